import { describe, expect, it } from '@jest/globals';
import { checkCli } from '../../../activities/iac/deployments/cli-check.js';

describe('the readiness part of deployments', () => {
  it('is content with a CLI on the path, and says so when there is none', async () => {
    expect(await checkCli('sh')()).toBeUndefined();
    expect((await checkCli('no-such-cli')())?.degraded).toContain("'no-such-cli' is not on the path");
    expect((await checkCli('-v; id')())?.degraded).toContain('is not on the path');
  });
});
