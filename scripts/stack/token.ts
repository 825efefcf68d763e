import { config as readDotenv } from 'dotenv';
import { stackConfig } from './config.js';
import { loadAddresses, openDataDir } from './data-dir.js';
import { fetchToken } from './oidc/issuer.js';

const USAGE = `npm run -s token -- NAME

Prints an access token of the local issuer for an operator (ann or ben), while npm start runs:
  curl -H "Authorization: Bearer $(npm run -s token -- ben)" http://127.0.0.1:8081/api/v1/machines`;

const tokenOf = async (name: string): Promise<string> => {
  const config = stackConfig(process.env);
  const addresses = await loadAddresses(await openDataDir(config.STACK_DATA_DIR));
  if (addresses?.oidcIssuer === undefined) throw new Error('no local issuer: run npm start first');
  return fetchToken(addresses.oidcIssuer, name);
};

readDotenv({ quiet: true });
const [name] = process.argv.slice(2);
if (name === undefined || name.startsWith('-')) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = name === '--help' ? 0 : 2;
} else {
  try {
    process.stdout.write(`${await tokenOf(name)}\n`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `${text === 'fetch failed' ? 'the local issuer does not answer: run npm start first' : text}\n`,
    );
    process.exitCode = 1;
  }
}
