import type { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { searchAttributes } from '../../workflows/search-attributes.js';

/** Names of our search attributes that the namespace does not have. */
export const missingSearchAttributes = async (
  connection: Connection,
  namespace: string,
): Promise<readonly string[]> => {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.values(searchAttributes)
    .map(({ name }) => name)
    .filter((name) => !(name in customAttributes));
};

/** Registers what is missing; several processes may do it at once. Returns the names added now. */
export const ensureSearchAttributes = async (
  connection: Connection,
  namespace: string,
): Promise<readonly string[]> => {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return [];
  const { INDEXED_VALUE_TYPE_KEYWORD: keyword } = proto.temporal.api.enums.v1.IndexedValueType;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
    });
  } catch (error) {
    if ((await missingSearchAttributes(connection, namespace)).length > 0) throw error;
  }
  return missing;
};
