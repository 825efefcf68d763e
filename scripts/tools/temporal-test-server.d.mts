export declare const TEST_SERVER_VERSION: string;
/** Path of the time-skipping test server; installs it when missing. */
export declare const ensureTestServer: (root?: string) => Promise<string>;
