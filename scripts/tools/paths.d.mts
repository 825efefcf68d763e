/** The folder that holds package-lock.json, from the sources and from dist/ alike. */
export declare const packageRoot: () => string;
