import ipaddr from 'ipaddr.js';

/** `10.0.0.0/8` or a bare address; throws on anything else. */
export type Cidr = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

export const parseCidr = (text: string): Cidr => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

const normal = (address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined =>
  ipaddr.isValid(address) ? ipaddr.process(address) : undefined;

const isWithin = (address: string, ranges: readonly Cidr[]): boolean => {
  const parsed = normal(address);
  return (
    parsed !== undefined &&
    ranges.some(([net, bits]) => parsed.kind() === net.kind() && parsed.match(net, bits))
  );
};

export interface Source {
  readonly address: string;
  /** The peer is a trusted proxy and named nobody else: a request of its own. */
  readonly isProxy: boolean;
  /** The peer is a trusted proxy: its headers about the client may be believed. */
  readonly viaProxy: boolean;
}

/**
 * Who sent a request. `X-Forwarded-For` counts only from a trusted proxy, and then its last hop that is not
 * itself trusted: earlier hops are whatever the client wrote.
 */
export const createSourceOf = (trusted: readonly Cidr[]) => {
  const known = new Map<string, boolean>();
  const isTrusted = (address: string): boolean => {
    let answer = known.get(address);
    if (answer === undefined) {
      answer = isWithin(address, trusted);
      if (known.size > 10_000) known.clear();
      known.set(address, answer);
    }
    return answer;
  };
  return (peer: string, forwardedFor: string): Source => {
    if (!isTrusted(peer)) return { address: peer, isProxy: false, viaProxy: false };
    const hops = forwardedFor
      .split(',')
      .map((hop) => hop.trim())
      .filter((hop) => hop !== '');
    const client = hops.reverse().find((hop) => !isTrusted(hop));
    return { address: client ?? peer, isProxy: client === undefined, viaProxy: true };
  };
};

/**
 * Whom per-source limits count: the address, of an IPv6 address its /64, since one host owns all of that.
 * Undefined for a trusted proxy's own request, which only total limits apply to.
 */
export const limitedSource = (state: { source: string; sourceIsProxy: boolean }): string | undefined => {
  if (state.sourceIsProxy) return undefined;
  if (!state.source.includes(':')) return state.source;
  const address = normal(state.source);
  if (address === undefined) return state.source;
  return address.kind() === 'ipv4'
    ? address.toString()
    : `${address.toNormalizedString().split(':', 4).join(':')}::/64`;
};
