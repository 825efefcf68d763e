import { isMap, isScalar, isSeq, Pair, parseAllDocuments, Scalar, visit, YAMLMap, YAMLSeq } from 'yaml';
import type { Document } from 'yaml';
import type { ConfigEdit, ConfigValue } from '../../domain/broker/node-config.js';

/**
 * A role's base config, parsed once. Every scalar is kept as it was written (`0644`, `"true"`, `1e3`): the failsafe
 * schema gives no meaning to text, so what an edit does not touch reaches the node unchanged, in any YAML version.
 */
export interface ConfigDocument {
  /** The whole file, all its documents, with the edits made in the one that holds `machine`. */
  render(edits: readonly ConfigEdit[]): string;
}

const MAX_CONFIG_CHARACTERS = 1_048_576;

/** Throws an Error whose message says why the text cannot be a base config. */
export const parseConfigDocument = (text: string): ConfigDocument => {
  if (text.length > MAX_CONFIG_CHARACTERS) throw new Error('it is larger than 1 MiB');
  const parsed = parseAllDocuments(text, { schema: 'failsafe' });
  const documents: readonly Document[] = Array.isArray(parsed) ? parsed : [];
  documents.forEach(judge);
  const [machineConfig, ...others] = documents.filter(holdsMachine);
  const base = machineConfig?.contents;
  if (machineConfig === undefined || !isMap(base) || others.length > 0)
    throw new Error('exactly one of its documents must be a machine config (a map with `machine`)');
  return {
    render: (edits) => {
      machineConfig.contents = edits.reduce(applyEdit, base);
      return documents.map((document) => document.toString({ lineWidth: 0 })).join('');
    },
  };
};

/** No aliases: no config needs them, an edit would show through them, and they are how YAML bombs grow. */
const judge = (document: Document): void => {
  const [error] = document.errors;
  if (error !== undefined) throw new Error(error.message.split('\n')[0]);
  visit(document, {
    Alias: () => {
      throw new Error('it uses YAML aliases');
    },
  });
};

const holdsMachine = ({ contents }: Document): boolean =>
  isMap(contents) && contents.has('machine') && !contents.has('kind');

const applyEdit = (root: YAMLMap, edit: ConfigEdit): YAMLMap => {
  switch (edit.op) {
    case 'set':
      return changeAt(root, edit.path, (node) =>
        edit.ifAbsent === true && !isAbsent(node) ? node : nodeOf(edit.value),
      );
    case 'append':
      return changeAt(root, edit.path, (node) =>
        listWith(node, [...itemsOf(node), ...edit.items.map(nodeOf)]),
      );
    case 'set-first':
      return changeAt(root, edit.path, (node) => {
        const [first, ...rest] = itemsOf(node);
        return listWith(node, [
          isAbsent(first)
            ? nodeOf(edit.otherwise)
            : changeAt(asMap(first), [edit.key], () => nodeOf(edit.value)),
          ...rest,
        ]);
      });
  }
};

/** A copy of `map` with the node at `path` changed; what lies beside the path is shared, not copied. */
const changeAt = (map: YAMLMap, path: readonly string[], change: (node: unknown) => unknown): YAMLMap => {
  const [key, ...rest] = path;
  const at = map.items.findIndex((pair) => (isScalar(pair.key) ? pair.key.value : pair.key) === key);
  const before = map.items[at];
  const after = rest.length === 0 ? change(before?.value) : changeAt(asMap(before?.value), rest, change);
  const pair = new Pair<unknown, unknown>(before?.key ?? plain(key ?? ''), after);
  const copy = keepComments(map, new YAMLMap(map.schema));
  copy.items = before === undefined ? [...map.items, pair] : map.items.with(at, pair);
  return copy;
};

const isAbsent = (node: unknown): boolean =>
  node === undefined ||
  node === null ||
  (isScalar(node) && node.type === 'PLAIN' && ['', '~', 'null'].includes(String(node.value)));

const asMap = (node: unknown): YAMLMap => {
  if (isAbsent(node)) return new YAMLMap();
  if (isMap(node)) return node;
  throw new Error('a value stands where the config needs a map');
};

const itemsOf = (node: unknown): readonly unknown[] => {
  if (isAbsent(node)) return [];
  if (isSeq(node)) return node.items;
  throw new Error('a value stands where the config needs a list');
};

const listWith = (node: unknown, items: unknown[]): YAMLSeq => {
  const list = isSeq(node) ? keepComments(node, new YAMLSeq(node.schema)) : new YAMLSeq();
  list.items = items;
  return list;
};

const keepComments = <T extends YAMLMap | YAMLSeq>(from: YAMLMap | YAMLSeq, to: T): T => {
  if (typeof from.commentBefore === 'string') to.commentBefore = from.commentBefore;
  if (typeof from.comment === 'string') to.comment = from.comment;
  if (from.spaceBefore === true) to.spaceBefore = true;
  return to;
};

const plain = (text: string): Scalar => Object.assign(new Scalar(text), { type: Scalar.PLAIN });

const nodeOf = (value: ConfigValue): Scalar | YAMLMap | YAMLSeq => {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return plain(`0o${value.toString(8)}`);
  if (isList(value)) return listWith(undefined, value.map(nodeOf));
  const map = new YAMLMap();
  map.items = Object.entries(value).map(([key, item]) => new Pair(plain(key), nodeOf(item)));
  return map;
};

/** Text of ours never depends on a reader's YAML version: it is quoted, or a literal block when it has lines. */
const quoted = (text: string): Scalar =>
  Object.assign(new Scalar(text), {
    type: /^[\x20-\x7e\n]*\n$/.test(text) ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE,
  });

const isList = (value: ConfigValue): value is readonly ConfigValue[] => Array.isArray(value);
