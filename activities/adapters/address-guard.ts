import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError } from '../../domain/errors.js';

/** Where outbound calls may go. The default, everything empty, is https to public addresses. */
export interface OutboundPolicy {
  readonly allowHttp?: boolean;
  /** Private, loopback or otherwise special ranges that are open, e.g. `10.0.0.0/8`. */
  readonly allowedCidrs?: readonly string[];
  /** Origins that a setting of the operator names: http and private (never link-local) addresses are open there. */
  readonly trustedOrigins?: readonly string[];
}

/** All addresses of a name, IPv4 and IPv6. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

export interface AddressGuard {
  /** Judges scheme, port, host text and literal addresses. Returns the normalised URL; throws `invalid`. */
  judgeUrl(url: string): URL;
  /** Resolves once, judges every address and returns the one to connect to; throws `invalid` or `unavailable`. */
  pin(hostname: string, origin: string): Promise<string>;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

const MAX_URL_LENGTH = 2048;
const RESOLVE_TIMEOUT_MS = 5_000;
/** Cloud metadata that sits in public space. */
const BARRED_PUBLIC: readonly Range[] = [[ipaddr.parse('168.63.129.16'), 32]];
/** Only here are public IPv6 addresses given out (RFC 4291, IANA). */
const GLOBAL_UNICAST_V6: Range = [ipaddr.parse('2000::'), 3];
const PRIVATE_NAME = /(^|\.)(localhost|local|internal|lan|home|corp|intranet|arpa|onion|test|invalid)$/;
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);
/** Services above 1023 that a request must never be able to talk to (with the list of the fetch standard). */
const BARRED_PORTS: ReadonlySet<number> = new Set([
  1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432,
  5672, 5984, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 7233, 7234, 7235, 9042, 9092,
  9200, 9300, 10080, 10250, 11211, 27017,
]);

const refused = (why: string): AppError =>
  new AppError('invalid', `address refused: ${why}`, { code: 'address_refused' });

export const createAddressGuard = (
  policy: OutboundPolicy,
  resolve: Resolver = systemResolver,
): AddressGuard => {
  const allowed = (policy.allowedCidrs ?? []).map((cidr): Range => ipaddr.parseCIDR(cidr));
  const trusted = new Set((policy.trustedOrigins ?? []).map((url) => new URL(url).origin));

  const judgeAddress = (text: string, origin: string, privateName: boolean): void => {
    const address = ipaddr.process(text);
    if (within(address, allowed)) return;
    if (trusted.has(origin) && address.range() !== 'linkLocal') return;
    if (privateName) throw refused('a private name');
    if (!isPublic(address)) throw refused('not a public address');
  };

  return {
    judgeUrl: (text) => {
      const url = parseUrl(text);
      if (
        url.protocol !== 'https:' &&
        !(url.protocol === 'http:' && (policy.allowHttp || trusted.has(url.origin)))
      )
        throw refused(url.protocol === 'http:' ? 'https is required' : 'not an http(s) URL');
      judgePort(url);
      const literal = literalOf(url.hostname);
      if (literal !== undefined) judgeAddress(literal, url.origin, false);
      else if (isPrivateName(url.hostname) && allowed.length === 0 && !trusted.has(url.origin))
        throw refused('a private name');
      return url;
    },
    pin: async (hostname, origin) => {
      const literal = literalOf(hostname);
      const addresses = literal === undefined ? await resolveSoon(resolve, hostname) : [literal];
      const privateName = literal === undefined && isPrivateName(hostname);
      for (const address of addresses) judgeAddress(address, origin, privateName);
      const [first] = addresses;
      if (first === undefined) throw new AppError('unavailable', 'name does not resolve', { code: 'dns' });
      return first;
    },
  };
};

/** The parser must see exactly what the caller wrote: nothing that it would repair in silence. */
const parseUrl = (text: string): URL => {
  if (text.length > MAX_URL_LENGTH) throw refused('URL too long');
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@\s]/i.test(text) || /[\s\\]|\p{Cc}/u.test(text) || !URL.canParse(text))
    throw refused('not a plain URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw refused('credentials in the URL');
  return url;
};

const judgePort = (url: URL): void => {
  const port = url.port === '' ? 443 : Number(url.port);
  if (WEB_PORTS.has(port)) return;
  if (port < 1024 || BARRED_PORTS.has(port)) throw refused(`port ${port}`);
};

const literalOf = (hostname: string): string | undefined => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? undefined : bare;
};

const isPrivateName = (hostname: string): boolean => {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return !name.includes('.') || PRIVATE_NAME.test(name);
};

const isPublic = (address: Address): boolean =>
  address.range() === 'unicast' &&
  !within(address, BARRED_PUBLIC) &&
  (address.kind() === 'ipv4' || within(address, [GLOBAL_UNICAST_V6]));

const within = (address: Address, ranges: readonly Range[]): boolean =>
  ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));

const systemResolver: Resolver = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: false })).map(({ address }) => address);

const resolveSoon = async (resolve: Resolver, hostname: string): Promise<readonly string[]> => {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('resolver timed out')), RESOLVE_TIMEOUT_MS);
    timer.unref();
  });
  try {
    return await Promise.race([resolve(hostname), expiry]);
  } catch (cause) {
    throw new AppError('unavailable', 'name does not resolve', { cause, code: 'dns' });
  } finally {
    clearTimeout(timer);
  }
};
