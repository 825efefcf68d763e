import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Certificate } from '../../../activities/crypto/certificate.js';
import { parseCertificate } from '../../../activities/crypto/certificate.js';
import {
  caExtension,
  distinguishedName,
  keyUsageExtension,
  purposeExtension,
} from '../../../activities/crypto/certificate-build.js';
import { verifyChain } from '../../../activities/crypto/chain.js';
import { element, sequence } from '../../../activities/crypto/der-write.js';
import { parseEkMaterial } from '../../../activities/crypto/ek.js';
import { onlyPemBlock } from '../../../activities/crypto/pem.js';
import { verifyEkChain } from '../../../activities/crypto/trust-bundle.js';
import type { Entity, Twist } from '../../support/certificates.js';
import {
  makeIntermediate,
  makeLeaf,
  makeRoot,
  p256,
  rawExtension,
  testNow,
  testPurpose,
} from '../../support/certificates.js';
import { tpmVectors } from '../../support/tpm-vectors.js';

/** In the manner of x509-limbo: one well-formed chain, one twist at a time; whatever must fail fails. */
const without =
  (...names: string[]) =>
  (usual: Record<string, Buffer>) =>
    Object.fromEntries(Object.entries(usual).filter(([name]) => !names.includes(name)));
const and = (more: Record<string, Buffer>) => (usual: Record<string, Buffer>) => ({ ...usual, ...more });

const judge = (leaf: Entity, intermediates: readonly Entity[], roots: readonly Entity[]) =>
  verifyChain({
    leaf: leaf.certificate,
    intermediates: intermediates.map(({ certificate }) => certificate),
    roots: roots.map(({ certificate }) => certificate),
    at: testNow,
    purpose: testPurpose,
  });

let root: Entity;
let intermediate: Entity;
beforeAll(async () => {
  root = await makeRoot('root');
  intermediate = await makeIntermediate('intermediate', root);
});

const dns = (text: string) => element(0x82, Buffer.from(text));
const san = (critical: boolean, ...names: Buffer[]) =>
  rawExtension('2.5.29.17', sequence(...names), critical);
const constraints = (critical: boolean, permitted: Buffer[], excluded: Buffer[] = []) => {
  const trees = (tag: number, bases: Buffer[]) =>
    bases.length === 0 ? Buffer.alloc(0) : element(tag, ...bases.map((base) => sequence(base)));
  return rawExtension('2.5.29.30', sequence(trees(0xa0, permitted), trees(0xa1, excluded)), critical);
};
const unknown = (critical: boolean) =>
  rawExtension('1.3.6.1.4.1.55555.1', Buffer.from('0500', 'hex'), critical);

describe('paths that hold', () => {
  it('leaf under the root, and through two intermediates given in any order', async () => {
    await expect(judge(await makeLeaf(root), [], [root])).resolves.toHaveLength(2);
    const lower = await makeIntermediate('lower', intermediate);
    const path = await judge(await makeLeaf(lower), [lower, intermediate], [root]);
    expect(path.map(({ view }) => view.subject)).toEqual([
      'O=Makers\nCN=leaf',
      'CN=lower',
      'CN=intermediate',
      'CN=root',
    ]);
  });

  it('an expired intermediate is passed over for its renewed twin', async () => {
    const key = p256();
    const old = await makeIntermediate('twin', root, { key, notAfter: new Date('2026-02-01') });
    const renewed = await makeIntermediate('twin', root, { key });
    await expect(judge(await makeLeaf(renewed), [old, renewed], [root])).resolves.toHaveLength(3);
  });

  it.each<[string, Twist]>([
    ['an unknown extension that is not critical', { extensions: and({ unknown: unknown(false) }) }],
    [
      'no subject but a critical alternative name',
      { name: sequence(), extensions: and({ san: san(true, dns('a.example')) }) },
    ],
  ])('a leaf with %s', async (_what, twist) => {
    await expect(judge(await makeLeaf(root, twist), [], [root])).resolves.toHaveLength(2);
  });
});

describe('leaves that must fail', () => {
  it.each<[string, Twist, RegExp]>([
    ['expired', { notAfter: new Date('2026-05-01') }, /expired/],
    ['not valid yet', { notBefore: new Date('2026-07-01') }, /not valid yet/],
    [
      'of another purpose',
      { extensions: and({ purpose: purposeExtension('1.3.6.1.5.5.7.3.1') }) },
      /extended key usage/,
    ],
    [
      'of any purpose',
      { extensions: and({ purpose: purposeExtension('2.5.29.37.0') }) },
      /extended key usage/,
    ],
    ['without purpose', { extensions: without('purpose') }, /purpose/],
    ['that is a CA', { extensions: and({ constraints: caExtension(0) }) }, /is a CA/],
    [
      'that may sign certificates',
      { extensions: and({ usage: keyUsageExtension(['keyCertSign']) }) },
      /may sign/,
    ],
    ['with a critical unknown extension', { extensions: and({ unknown: unknown(true) }) }, /not understood/],
    [
      'with a critical authority key identifier',
      {
        extensions: (u) => ({
          ...u,
          aki: Buffer.concat([u['aki']!]),
          crit: rawExtension('1.3.6.1.5.5.7.1.1', sequence(), true),
        }),
      },
      /not understood|critical/,
    ],
    ['without authority key identifier', { extensions: without('aki') }, /authority key identifier/],
    [
      'naming another authority key',
      { extensions: and({ aki: rawExtension('2.5.29.35', sequence(element(0x80, Buffer.alloc(20, 1)))) }) },
      /another key/,
    ],
    [
      'with name constraints',
      { extensions: and({ nc: constraints(true, [dns('example')]) }) },
      /name constraints and is no CA/,
    ],
    [
      'without subject and with a plain alternative name',
      { name: sequence(), extensions: and({ san: san(false, dns('a.example')) }) },
      /neither a subject/,
    ],
    [
      'with an empty alternative name',
      { extensions: and({ san: rawExtension('2.5.29.17', sequence()) }) },
      /empty alternative/,
    ],
    ['with a zero serial', { serial: Buffer.from([0]) }, /serial/],
    ['with a serial of 21 bytes', { serial: Buffer.alloc(21, 0x11) }, /serial/],
    ['with RSA of 1024 bits', { key: generateKeyPairSync('rsa', { modulusLength: 1024 }) }, /RSA of 1024/],
    ['on a curve that is not ours', { key: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }) }, /curve/],
    [
      'with a policy constraint',
      { extensions: and({ pc: rawExtension('2.5.29.36', sequence(element(0x80, Buffer.from([0]))), true) }) },
      /not understood/,
    ],
    ['signed by somebody else', { signer: p256().privateKey }, /not signed by/],
  ])('%s', async (_what, twist, reason) => {
    await expect(judge(await makeLeaf(root, twist), [], [root])).rejects.toThrow(reason);
  });

  it('an extension twice, a wrong version, and two different algorithms do not even parse', async () => {
    const twice = makeLeaf(root, { extensions: (u) => ({ ...u, again: u['purpose']! }) });
    await expect(twice).rejects.toThrow(/twice/);
    const { der } = (await makeLeaf(root)).certificate;
    const version = Buffer.from(der);
    version[version.indexOf(Buffer.from('a003020102', 'hex')) + 4] = 7;
    expect(() => parseCertificate(version)).toThrow(/version/);
    const algorithm = Buffer.from(der);
    const at = algorithm.lastIndexOf(Buffer.from('2a8648ce3d040303', 'hex'));
    algorithm[at + 7] = 2;
    expect(() => parseCertificate(algorithm)).toThrow(/algorithms differ/);
  });
});

describe('authorities that must fail', () => {
  it.each<[string, Twist, RegExp]>([
    ['expired', { notAfter: new Date('2026-05-01') }, /expired/],
    ['without basic constraints', { extensions: without('constraints') }, /not a CA/],
    [
      'with basic constraints that are not critical',
      { extensions: and({ constraints: rawExtension('2.5.29.19', Buffer.from('30030101ff', 'hex')) }) },
      /not critical/,
    ],
    ['without keyCertSign', { extensions: and({ usage: keyUsageExtension(['cRLSign']) }) }, /keyCertSign/],
    ['without key usage', { extensions: without('usage') }, /keyCertSign/],
    ['without subject key identifier', { extensions: without('ski') }, /subject key identifier/],
    [
      'with a purpose that shuts ours out',
      { extensions: and({ purpose: purposeExtension('1.3.6.1.5.5.7.3.1') }) },
      /extended key usage/,
    ],
    ['with a critical unknown extension', { extensions: and({ unknown: unknown(true) }) }, /not understood/],
    [
      'with name constraints that are not critical',
      { extensions: and({ nc: constraints(false, [dns('example')]) }) },
      /not critical/,
    ],
    ['with a weak key', { key: generateKeyPairSync('rsa', { modulusLength: 1024 }) }, /RSA of 1024/],
  ])('%s, as intermediate and as root', async (_what, twist, reason) => {
    const bad = await makeIntermediate('bad', root, twist);
    await expect(judge(await makeLeaf(bad), [bad], [root])).rejects.toThrow(reason);
    const badRoot = await makeRoot('bad root', twist);
    await expect(judge(await makeLeaf(badRoot), [], [badRoot])).rejects.toThrow(reason);
  });

  it('a path length that is exceeded', async () => {
    const short = await makeIntermediate('short', root, {}, 0);
    const below = await makeIntermediate('below', short);
    await expect(judge(await makeLeaf(below), [short, below], [root])).rejects.toThrow(/path length/);
    await expect(judge(await makeLeaf(short), [short], [root])).resolves.toHaveLength(3);
  });

  it('an unknown root, a missing intermediate, and a leaf used as issuer', async () => {
    const stranger = await makeRoot('root');
    await expect(judge(await makeLeaf(root), [], [stranger])).rejects.toThrow(/not signed|another key/);
    await expect(judge(await makeLeaf(intermediate), [], [root])).rejects.toThrow(/no path/);
    const leaf = await makeLeaf(root);
    await expect(judge(await makeLeaf(leaf), [leaf], [root])).rejects.toThrow(/not a CA/);
  });

  it('loops and crowds of candidates end', async () => {
    const [a, b] = [p256(), p256()];
    const [nameA, nameB] = [distinguishedName(['cn', 'A']), distinguishedName(['cn', 'B'])];
    const firstA = await makeRoot('A', { key: a });
    const firstB = await makeRoot('B', { key: b });
    const aByB = await makeIntermediate('A', { ...firstB, name: nameB }, { key: a });
    const bByA = await makeIntermediate('B', { ...firstA, name: nameA }, { key: b });
    await expect(judge(await makeLeaf(aByB), [aByB, bByA], [root])).rejects.toThrow(/no path|refused/);
    const key = p256();
    const forged = () => makeIntermediate('crowd', root, { key, signer: p256().privateKey });
    const crowd = await Promise.all(Array.from({ length: 80 }, forged));
    await expect(judge(await makeLeaf(crowd[0]!), crowd, [root])).rejects.toThrow(/too many candidate/);
  });
});

describe('name constraints', () => {
  const under = async (nc: Buffer, leaf: Twist) => {
    const ca = await makeIntermediate('constrained', root, { extensions: and({ nc }) });
    return judge(await makeLeaf(ca, leaf), [ca], [root]);
  };
  const named = (...names: Buffer[]): Twist => ({ extensions: and({ san: san(false, ...names) }) });
  const ip = (hex: string) => element(0x87, Buffer.from(hex, 'hex'));
  const email = (text: string) => element(0x81, Buffer.from(text));
  const uri = (text: string) => element(0x86, Buffer.from(text));
  const directory = (name: Buffer) => element(0xa4, name);
  const makers = directory(distinguishedName(['o', 'makers']));

  it.each<[string, Buffer, Twist]>([
    [
      'a domain and one below',
      constraints(true, [dns('example.org')]),
      named(dns('example.org'), dns('a.b.example.org')),
    ],
    ['an address in its network', constraints(true, [ip('0a000000ff000000')]), named(ip('0a010203'))],
    ['a name whose subject lies below, in other case', constraints(true, [makers]), {}],
    ['other kinds of names', constraints(true, [dns('example.org')]), named(email('x@y.example'))],
  ])('permit %s', async (_what, nc, leaf) => {
    await expect(under(nc, leaf)).resolves.toHaveLength(3);
  });

  it.each<[string, Buffer, Twist]>([
    ['another domain', constraints(true, [dns('example.org')]), named(dns('example.com'))],
    ['a domain that only ends alike', constraints(true, [dns('example.org')]), named(dns('badexample.org'))],
    [
      'an excluded domain in other case',
      constraints(true, [], [dns('example.org')]),
      named(dns('A.EXAMPLE.ORG')),
    ],
    [
      'a wildcard over an excluded domain',
      constraints(true, [], [dns('a.example.org')]),
      named(dns('*.example.org')),
    ],
    [
      'one good and one bad name',
      constraints(true, [dns('example.org')]),
      named(dns('example.org'), dns('x.com')),
    ],
    ['an address outside', constraints(true, [ip('0a000000ff000000')]), named(ip('0b010203'))],
    [
      'an IPv6 address under IPv4 only',
      constraints(true, [ip('0a000000ff000000')]),
      named(ip('00'.repeat(16))),
    ],
    ['a mask with holes', constraints(true, [ip('0a000000ff00ff00')]), named(ip('0a010203'))],
    ['another mailbox', constraints(true, [email('a@example.org')]), named(email('b@example.org'))],
    ['an excluded mail host', constraints(true, [], [email('example.org')]), named(email('b@example.org'))],
    [
      'an excluded host behind user and port',
      constraints(true, [], [uri('.example.org')]),
      named(uri('https://u@a.example.org:1/x')),
    ],
    ['another organisation', constraints(true, [directory(distinguishedName(['o', 'Others']))]), {}],
    [
      'an excluded organisation written otherwise',
      constraints(true, [], [directory(distinguishedName(['o', ' MAKERS ']))]),
      {},
    ],
    ['a constraint of an unknown type', constraints(true, [element(0x88, Buffer.from([42]))]), {}],
    ['an empty constraint list', rawExtension('2.5.29.30', sequence(), true), {}],
    ['a leading dot', constraints(true, [dns('.example.org')]), named(dns('a.example.org'))],
    [
      'a constraint with bounds',
      rawExtension(
        '2.5.29.30',
        sequence(element(0xa0, sequence(dns('example.org'), element(0x80, Buffer.from([1]))))),
        true,
      ),
      {},
    ],
  ])('refuse %s', async (_what, nc, leaf) => {
    await expect(under(nc, leaf)).rejects.toThrow(/certificate chain refused/);
  });
});

describe('EK chains', () => {
  const pem = (text: string): Certificate => parseCertificate(onlyPemBlock(text, 'CERTIFICATE', 'test'));
  const issuer = pem(tpmVectors.ca.issuer_pem);
  const makerRoot = pem(tpmVectors.ca.root_pem);
  const bundle = { roots: [makerRoot], intermediates: [issuer], problems: [] };
  const at = new Date('2027-01-01');

  it.each(['rsa', 'ecc'] as const)('%s: reaches the maker, whose root is named', async (kind) => {
    const ek = parseEkMaterial(tpmVectors.eks[kind].cert_der_b64, 'cert', { now: at });
    const named = await verifyEkChain(ek, undefined, bundle, at);
    expect(named.subject).toBe('CN=swtpm-localca-rootca');
    expect(named.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('takes intermediates from ek_chain, which adds no trust', async () => {
    const ek = parseEkMaterial(tpmVectors.eks.rsa.cert_der_b64, 'cert', { now: at });
    const rootOnly = { ...bundle, intermediates: [] };
    await expect(verifyEkChain(ek, undefined, rootOnly, at)).rejects.toThrow('no path');
    await expect(verifyEkChain(ek, tpmVectors.ca.issuer_pem, rootOnly, at)).resolves.toBeDefined();
    const untrusted = { ...bundle, roots: [] };
    const all = tpmVectors.ca.issuer_pem + tpmVectors.ca.root_pem;
    await expect(verifyEkChain(ek, all, untrusted, at)).rejects.toThrow('no path');
  });

  it('refuses another maker and bare public keys', async () => {
    const other = await makeRoot('swtpm-localca-rootca');
    const ek = parseEkMaterial(tpmVectors.eks.rsa.cert_der_b64, 'cert', { now: at });
    const foreign = { ...bundle, roots: [other.certificate] };
    await expect(verifyEkChain(ek, undefined, foreign, at)).rejects.toMatchObject({ code: 'chain' });
    const pub = parseEkMaterial(tpmVectors.eks.rsa.spki_der_b64, 'pub');
    await expect(verifyEkChain(pub, undefined, bundle, at)).rejects.toMatchObject({ code: 'ek_untrusted' });
  });
});
