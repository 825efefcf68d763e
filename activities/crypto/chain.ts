import { AppError } from '../../domain/errors.js';
import type { Certificate } from './certificate.js';
import { subjectText as nameOf } from './certificate.js';
import { caRules, constraintRules, isSelfIssued, leafRules, linkRules } from './chain-rules.js';
import { signatureHash } from './signature-algorithms.js';
import { verifyAsync } from './verify.js';

export interface ChainInput {
  readonly leaf: Certificate;
  /** Untrusted helpers, in any order. */
  readonly intermediates: readonly Certificate[];
  /** Trust anchors; their own signatures are not looked at. */
  readonly roots: readonly Certificate[];
  readonly at: Date;
  /** Extended key usage that the leaf must have and CAs must not forbid. */
  readonly purpose: string;
}

/** Bounds on what a hostile bundle can make us do. */
const maxDepth = 8;
const maxSignatureChecks = 64;
const maxCertificates = 512;

const chainError = (why: string): AppError =>
  new AppError('invalid', `certificate chain refused: ${why}`, { code: 'chain' });

/**
 * Builds and checks a path from `leaf` to one of `roots` (RFC 5280, 6.1), trying every candidate issuer within bounds.
 * Returns it from leaf to root; throws `invalid` (code `chain`) with the reason of the path that came furthest.
 */
export const verifyChain = async (input: ChainInput): Promise<readonly Certificate[]> => {
  if (input.intermediates.length + input.roots.length > maxCertificates)
    throw chainError('too many certificates');
  const search = new Search(input);
  const broken = guarded(() => leafRules(input.leaf, input.at, input.purpose));
  if (broken !== undefined) throw chainError(`${nameOf(input.leaf)}: ${broken}`);
  const path = await search.extend([input.leaf]);
  if (path === undefined) throw chainError(search.reason);
  return path;
};

/** A structure that cannot be read is a broken rule like any other. */
const guarded = (rule: () => string | undefined): string | undefined => {
  try {
    return rule();
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
};

class Search {
  reason = 'no path to a trusted root';
  readonly #input: ChainInput;
  #reasonDepth = 0;
  #checks = 0;

  constructor(input: ChainInput) {
    this.#input = input;
  }

  /** Depth first from the last certificate of `path`. */
  async extend(path: readonly Certificate[]): Promise<readonly Certificate[] | undefined> {
    const last = path.at(-1);
    if (last === undefined || path.length > maxDepth) return undefined;
    for (const { issuer, trusted } of this.#candidates(last, path)) {
      const next = [...path, issuer];
      const why = await this.#whyNot(path, last, issuer);
      if (why !== undefined) this.#note(path.length, why);
      else if (!trusted) {
        const found = await this.extend(next);
        if (found !== undefined) return found;
      } else {
        const broken = guarded(() => constraintRules(next));
        if (broken === undefined) return next;
        this.#note(next.length, broken);
      }
    }
    return undefined;
  }

  /** Issuers by name, trusted ones first; a certificate or key already on the path would be a loop. */
  #candidates(last: Certificate, path: readonly Certificate[]) {
    const named = (issuer: Certificate) => issuer.subject.equals(last.issuer);
    const looping = (issuer: Certificate) =>
      path.some((used) => used.subject.equals(issuer.subject) && used.spki.equals(issuer.spki));
    const { roots, intermediates } = this.#input;
    const fresh = (issuer: Certificate) => named(issuer) && !looping(issuer);
    return [
      ...roots.filter(fresh).map((issuer) => ({ issuer, trusted: true })),
      ...intermediates.filter(fresh).map((issuer) => ({ issuer, trusted: false })),
    ];
  }

  async #whyNot(
    path: readonly Certificate[],
    last: Certificate,
    issuer: Certificate,
  ): Promise<string | undefined> {
    const below = path.slice(1).filter((certificate) => !isSelfIssued(certificate)).length;
    const { at, purpose } = this.#input;
    const broken = guarded(() => caRules(issuer, at, purpose, below));
    if (broken !== undefined) return `${nameOf(issuer)}: ${broken}`;
    const link = guarded(() => linkRules(last, issuer));
    if (link !== undefined) return `${nameOf(last)}: ${link}`;
    if ((this.#checks += 1) > maxSignatureChecks) throw chainError('too many candidate issuers');
    return (await isSignedBy(last, issuer)) ? undefined : `${nameOf(last)}: not signed by ${nameOf(issuer)}`;
  }

  /** Keeps the reason of the deepest failure. */
  #note(depth: number, why: string): void {
    if (depth < this.#reasonDepth) return;
    this.#reasonDepth = depth;
    this.reason = why;
  }
}

/** Whether `issuer`'s key made the signature, with an algorithm that we accept. */
export const isSignedBy = async (certificate: Certificate, issuer: Certificate): Promise<boolean> => {
  const hash = signatureHash(certificate.signatureAlgorithm, issuer.publicKey);
  if (hash === undefined) return false;
  return (await verifyAsync(hash, certificate.tbs, issuer.publicKey, certificate.signature)) === true;
};
