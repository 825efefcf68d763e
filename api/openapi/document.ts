import { z } from 'zod';

/** One endpoint, described by the same schemas that its route uses. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete' | 'options';
  /** Express style: `/jobs/{job_id}`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  readonly headers?: readonly string[];
  /** Status to answer body; `undefined` is an empty body. */
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** Endpoints that stay open when bearer authentication is on. */
  readonly open?: boolean;
}

interface DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly bearer: boolean;
  readonly operations: readonly Operation[];
}

/** OpenAPI 3.0 of the operations; schemas are written in place, so the document needs no registry. */
export const openApiDocument = (options: DocumentOptions): object => {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of options.operations) {
    const methods = (paths[operation.path] ??= {});
    methods[operation.method] = describe(operation, options.bearer);
  }
  return {
    openapi: '3.0.3',
    info: { title: options.title, version: options.version, description: options.description },
    paths,
    ...(options.bearer
      ? {
          components: {
            securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
          },
        }
      : {}),
  };
};

const describe = (operation: Operation, bearer: boolean): object => ({
  summary: operation.summary,
  operationId: `${operation.method}${operation.path.replaceAll(/[^A-Za-z0-9]+/g, '_')}`,
  tags: [operation.tag],
  ...(bearer && operation.open !== true ? { security: [{ bearer: [] }] } : {}),
  parameters: [
    ...[...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
      parameter(name ?? '', 'path', { type: 'string' }),
    ),
    ...queryParameters(operation.query),
    ...(operation.headers ?? []).map((name) => parameter(name, 'header', { type: 'string' })),
  ],
  ...(operation.body === undefined
    ? {}
    : { requestBody: { required: true, content: jsonContent(operation.body, 'input') } }),
  responses: Object.fromEntries(
    Object.entries(operation.responses).map(([status, { description, schema }]) => [
      status,
      { description, ...(schema === undefined ? {} : { content: jsonContent(schema, 'output') }) },
    ]),
  ),
});

const jsonContent = (schema: z.ZodType, io: 'input' | 'output') => ({
  'application/json': { schema: jsonSchema(schema, io) },
});

const parameter = (name: string, where: string, schema: object, required = where === 'path') => ({
  name,
  in: where,
  required,
  schema,
});

const queryParameters = (query: z.ZodObject | undefined): object[] => {
  if (query === undefined) return [];
  const { properties = {} } = jsonSchema(query, 'output') as { properties?: Record<string, object> };
  return Object.entries(properties).map(([name, schema]) => parameter(name, 'query', schema, false));
};

/** The JSON schema of a zod schema without the parts that OpenAPI 3.0 does not know. */
const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): object => {
  const made = z.toJSONSchema(schema, { target: 'openapi-3.0', io, unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(made).filter(([key]) => !key.startsWith('$') && key !== '~standard'),
  );
};
