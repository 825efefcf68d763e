/** The arrows of docs/architecture.md. */
const only = (from, allowed) => ({
  name: `${from}-imports-only-${allowed.join('-') || 'nothing'}`,
  severity: 'error',
  from: { path: `^${from}/` },
  to: {
    path: '^(domain|workflows|activities|db|api|workers|scripts|test|bench)/',
    pathNot: `^(${[from, ...allowed].join('|')})/`,
    dependencyTypesNot: ['type-only'],
  },
});
module.exports = {
  forbidden: [
    only('domain', []),
    only('workflows', ['domain']),
    only('db', ['domain']),
    only('activities', ['domain', 'db']),
    only('workers', ['activities', 'db', 'domain', 'workflows', 'api/temporal', 'api/process']),
    {
      name: 'routes-get-their-use-cases-injected',
      severity: 'error',
      from: { path: '^api/', pathNot: '^api/([^/]+/(server|main|compose-[^/]+)|cli/[^/]+)\\.ts$' },
      to: { path: '^(activities|db|workers)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nobody-imports-roots',
      severity: 'error',
      from: { path: '^(domain|workflows|activities|db)/' },
      to: { path: '^(api|workers)/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main'],
    },
  },
};
