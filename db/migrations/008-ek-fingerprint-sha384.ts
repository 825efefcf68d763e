import type { Knex } from 'knex';

/**
 * Fingerprints moved from SHA-256 to SHA-384. Rows with stored EK material get the canonical value (SHA-384 of the DER,
 * whatever PEM or padding it came in); rows without keep what they have and are filled by the machine's next attest.
 */
export const up = (db: Knex) =>
  db.raw(String.raw`
    alter table machines add column if not exists ek_fingerprint_sha384 text;
    alter table machines add column if not exists ek_spki_sha384 text;

    create function pg_temp.canonical_der(material text) returns bytea language plpgsql as $$
    declare
      raw bytea;
      body text;
      header integer;
      size integer;
    begin
      raw := decode(material, 'base64');
      if substring(raw from 1 for 10) = convert_to('-----BEGIN', 'UTF8') then
        body := (regexp_match(convert_from(raw, 'UTF8'), '-----BEGIN [^-]+-----([^-]+)-----END'))[1];
        raw := decode(body, 'base64');
      end if;
      if get_byte(raw, 0) <> 48 then
        return null;
      end if;
      if get_byte(raw, 1) < 128 then
        header := 2; size := get_byte(raw, 1);
      elsif get_byte(raw, 1) = 129 then
        header := 3; size := get_byte(raw, 2);
      elsif get_byte(raw, 1) = 130 then
        header := 4; size := get_byte(raw, 2) * 256 + get_byte(raw, 3);
      else
        return null;
      end if;
      if length(raw) < header + size then
        return null;
      end if;
      return substring(raw from 1 for header + size);
    exception when others then
      return null;
    end $$;

    update machines set ek_fingerprint_sha384 = encode(sha384(pg_temp.canonical_der(ek_cert_pem)), 'hex')
      where ek_fingerprint_sha384 is null and ek_cert_pem is not null;
    update machines set ek_fingerprint_sha384 = ek_fingerprint
      where ek_fingerprint_sha384 is null and length(ek_fingerprint) = 96;
    update machines set ek_fingerprint = ek_fingerprint_sha384
      where ek_fingerprint_sha384 is not null and ek_fingerprint <> ek_fingerprint_sha384;
    create unique index if not exists machines_ek_fingerprint_sha384 on machines (ek_fingerprint_sha384);
    create index if not exists machines_ek_spki_sha384 on machines (ek_spki_sha384);
  `);
