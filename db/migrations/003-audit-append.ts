import type { Knex } from 'knex';

/**
 * The one place where the chain grows. The canonical form is that of domain/broker/audit.ts; a property test
 * holds the two together. Ids have no gaps: a missing row is seen.
 */
export const up = (db: Knex) =>
  db.raw(String.raw`
    create function audit_json(value text) returns text language plpgsql immutable strict as $$
    begin
      if value ~ '^[] !#-[^-~]*$' then
        return '"' || value || '"';
      end if;
      return '"' || (
        select string_agg(
          case
            when c = '"' then '\"'
            when c = '\' then '\\'
            when cp = 10 then '\n'
            when cp = 13 then '\r'
            when cp = 9 then '\t'
            when cp = 8 then '\b'
            when cp = 12 then '\f'
            when cp between 32 and 126 then c
            when cp < 65536 then '\u' || lpad(to_hex(cp), 4, '0')
            else '\u' || to_hex(55296 + ((cp - 65536) >> 10)) || '\u' || to_hex(56320 + ((cp - 65536) & 1023))
          end, '' order by position)
        from (
          select c, ascii(c) as cp, position
          from regexp_split_to_table(value, '') with ordinality as split(c, position)
        ) characters
      ) || '"';
    end $$;

    create function audit_append(
      p_action text, p_detail text, p_machine_id text, p_new_state text, p_operator_cn text, p_prev_state text,
      p_request_id text, p_source_address text, p_method text
    ) returns bigint language plpgsql as $$
    declare
      last record;
      now_utc timestamp;
      stamp text;
      previous text;
      next_id bigint;
    begin
      perform pg_advisory_xact_lock(7301002);
      select id, entry_hash into last from audit_log order by id desc limit 1;
      previous := coalesce(last.entry_hash, repeat('0', 64));
      next_id := coalesce(last.id, 0) + 1;
      now_utc := clock_timestamp() at time zone 'UTC';
      stamp := to_char(now_utc, 'YYYY-MM-DD"T"HH24:MI:SS')
        || case when extract(microseconds from now_utc)::bigint % 1000000 = 0 then '' else to_char(now_utc, '.US') end;
      insert into audit_log
        (id, timestamp, operator_cn, action, machine_id, prev_state, new_state, detail, prev_hash, entry_hash)
      values (
        next_id, now_utc at time zone 'UTC', p_operator_cn, p_action, p_machine_id, p_prev_state, p_new_state, p_detail,
        previous,
        encode(sha256(convert_to(
          '{"action":' || audit_json(p_action)
          || ',"detail":' || coalesce(audit_json(p_detail), 'null')
          || ',"machine_id":' || coalesce(audit_json(p_machine_id), 'null')
          || ',"new_state":' || coalesce(audit_json(p_new_state), 'null')
          || ',"operator_cn":' || audit_json(p_operator_cn)
          || ',"prev_hash":"' || previous || '"'
          || ',"prev_state":' || coalesce(audit_json(p_prev_state), 'null')
          || ',"timestamp":"' || stamp || '"}', 'UTF8')), 'hex')
      );
      insert into audit_context (audit_id, request_id, source_address, method)
        values (next_id, p_request_id, p_source_address, p_method);
      return next_id;
    end $$;
  `);
