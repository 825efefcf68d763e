export declare const TEMPORAL_CLI_VERSION: string;
/** Path of a Temporal CLI; installs it when missing. */
export declare const ensureTemporalCli: (root?: string) => Promise<string>;
