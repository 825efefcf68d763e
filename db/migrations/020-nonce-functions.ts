import type { Knex } from 'knex';

/**
 * Issue and redeem in one round trip each. `nonce_holders` counts what is outstanding, a row a source and one ('')
 * for all, so that neither limit needs a scan; lapsed nonces leave the counts in order of expiry. Time is the
 * database's: gateways may disagree about theirs. One lock keeps the counts exact.
 */
export const up = (db: Knex) =>
  db.raw(`
    alter table nonces add column held boolean not null default true;
    create index nonces_lapsing on nonces (expires_at) where held;
    create unlogged table nonce_holders (source text primary key, held integer not null);

    create function release_nonces(sources text[]) returns void language sql as $$
      update nonce_holders h set held = h.held - r.n
        from (select source, count(*) as n from unnest(sources || array_fill(''::text, array[cardinality(sources)])) source
              where source is not null group by source) r
        where h.source = r.source;
      delete from nonce_holders where held <= 0 and source = any(sources || ''::text);
    $$;

    create function issue_nonce(id text, value bytea, holder text, capacity integer, share integer,
        lifetime interval, memory interval, out verdict text, out expires timestamptz, out retry_seconds integer)
        language plpgsql as $$
      declare
        at timestamptz;
        lapsed text[];
      begin
        perform pg_advisory_xact_lock(7301020);
        at := clock_timestamp();
        delete from nonces where nonce_id in
          (select n.nonce_id from nonces n where n.expires_at <= at - memory order by n.expires_at limit 1000);
        with gone as (
          update nonces set held = false where nonce_id in
            (select n.nonce_id from nonces n where n.held and n.expires_at <= at order by n.expires_at limit 1000)
          returning source)
        select array_agg(source) into lapsed from gone;
        if lapsed is not null then perform release_nonces(lapsed); end if;

        if (select held from nonce_holders where source = '') >= capacity then
          verdict := 'all';
          select ceil(extract(epoch from min(n.expires_at) - at)) into retry_seconds from nonces n where n.held;
        elsif holder is not null and (select held from nonce_holders where source = holder) >= share then
          verdict := 'source';
        else
          verdict := 'issued';
          expires := at + lifetime;
          insert into nonces (nonce_id, nonce, source, issued_at, expires_at) values (id, value, holder, at, expires);
          insert into nonce_holders as h (source, held)
            select source, 1 from unnest(array['', holder]) source where source is not null
            on conflict (source) do update set held = h.held + 1;
        end if;
      end $$;

    create function redeem_nonce(id text, out verdict text, out value bytea) language plpgsql as $$
      declare
        found_row nonces%rowtype;
        at timestamptz;
      begin
        perform pg_advisory_xact_lock(7301020);
        at := clock_timestamp();
        select * into found_row from nonces where nonce_id = id;
        if not found then
          verdict := 'unknown';
        elsif found_row.used_at is not null then
          verdict := 'used';
        elsif found_row.expires_at <= at then
          verdict := 'expired';
        else
          verdict := 'redeemed';
          value := found_row.nonce;
          update nonces set used_at = at, held = false where nonce_id = id;
          if found_row.held then perform release_nonces(array[found_row.source]); end if;
        end if;
      end $$;
  `);
