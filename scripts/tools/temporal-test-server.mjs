import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot, installOnce, runWithProgress } from './cache.mjs';
import { packageRoot } from './paths.mjs';
import { findProgram, isExecutableFile } from './programs.mjs';
import { downloadBySdk, downloadedBySdk } from './sdk-download.mjs';

export const TEST_SERVER_VERSION = '1.38.0';

const cacheName = `temporal-test-server-${TEST_SERVER_VERSION}`;
const wrapperName = 'temporal-test-server';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>keystead</groupId><artifactId>temporal-test-server</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${TEST_SERVER_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>2.0.16</version></dependency>
  </dependencies>
</project>
`;

/** The SDK calls it with the port as first argument. */
const WRAPPER = `#!/bin/sh
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$(dirname "$0")/lib/*" io.temporal.testserver.TestServer "$@"
`;

const COPY_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

const fetchWithMaven = async (scratch) => {
  await writeFile(join(scratch, 'pom.xml'), POM);
  await runWithProgress(
    'fetching the time-skipping Temporal test server with Maven',
    'mvn',
    ['-q', '-B', COPY_GOAL, '-DincludeScope=runtime', '-DoutputDirectory=lib'],
    { cwd: scratch },
  );
  await writeFile(join(scratch, wrapperName), WRAPPER);
  await chmod(join(scratch, wrapperName), 0o755);
};

const present = async () => {
  const wrapper = join(cacheRoot(), cacheName, wrapperName);
  if (isExecutableFile(wrapper) && findProgram('java') !== undefined) return wrapper;
  return downloadedBySdk('testServer');
};

const NONE_FOUND = `No time-skipping Temporal test server. Install Maven and a Java runtime
(on Debian: apt-get install maven default-jre-headless), or let the SDK download it.`;

/**
 * Path of a program for `createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`: by Maven
 * (40 jars, 38 MB, once a user), else the SDK's download. Throws an Error that says what is missing.
 * @returns {Promise<string>}
 */
export const ensureTestServer = async (root = packageRoot()) => {
  const found = await present();
  if (found !== undefined) return found;
  if (findProgram('mvn') !== undefined && findProgram('java') !== undefined) {
    const files = ['lib', wrapperName];
    return join(await installOnce({ name: cacheName, files, build: fetchWithMaven }), wrapperName);
  }
  const download = await downloadBySdk('testServer', root);
  if (download === undefined) throw new Error(NONE_FOUND);
  return download;
};
