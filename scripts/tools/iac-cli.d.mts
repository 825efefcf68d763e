export declare const IAC_CLI_VERSION: string;
export declare const OLDER_IAC_CLI_VERSION: string;
/** Installs the CLI where it is missing; returns the folder with `pulumi` and `pulumi-language-yaml`. */
export declare const installIacCli: (options?: { readonly version?: string }) => Promise<string>;
