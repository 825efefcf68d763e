import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { explainEk } from '../../activities/crypto/ek-explain.js';
import type { EkSource } from '../../activities/crypto/ek.js';
import { loadTrustBundle } from '../../activities/crypto/trust-bundle.js';

/** `npm run ek-explain -- FILE`: what the broker would make of EK material, and why it refuses it. Exit 1: refused. */
const program = new Command('ek-explain')
  .argument('<file>', 'EK certificate (PEM, DER or NV dump) or public key')
  .option('--pub', 'the file is a public key (SPKI or TPM2B_PUBLIC)')
  .option('--bundle <dir>', 'also check the maker against this folder (as SVC_TPM_CA_BUNDLE_DIR)')
  .action(async (file: string, options: { pub?: true; bundle?: string }) => {
    const bundle = options.bundle === undefined ? undefined : await loadTrustBundle(options.bundle);
    for (const problem of bundle?.problems ?? []) console.error(`bundle: ${problem}`);
    const source: EkSource = options.pub === true ? 'pub' : 'cert';
    const { accepted, lines } = await explainEk(await readFile(file), source, bundle, new Date());
    console.log([accepted ? 'accepted' : 'not accepted', ...lines].join('\n'));
    process.exitCode = accepted ? 0 : 1;
  });

await program.parseAsync();
