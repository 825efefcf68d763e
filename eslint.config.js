import tseslint from 'typescript-eslint';

const sandboxed = [
  { group: ['node:*'], message: 'runs in the workflow sandbox or must stay pure' },
  { group: ['**/db/**', '**/api/**', '**/workers/**'], message: 'see the arrows in docs/architecture.md' },
];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'node_modules/',
      '.data/',
      'coverage/',
      '**/*.cjs',
      'api/ui/public/',
      'provider/dist/',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'named exports only' },
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'configuration is parsed once, in domain/config; entry points pass process.env',
        },
      ],
      eqeqeq: ['error', 'always'],
    },
  },
  {
    files: ['workflows/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            ...sandboxed,
            { group: ['**/activities/**'], allowTypeImports: true, message: 'types only' },
          ],
        },
      ],
    },
  },
  { files: ['domain/**/*.ts'], rules: { 'no-restricted-imports': ['error', { patterns: sandboxed }] } },
  {
    // knex infers a query's row type from the assertion on it: the assertion is the declaration.
    files: ['db/**/*.ts'],
    rules: { '@typescript-eslint/no-unnecessary-type-assertion': 'off' },
  },
  {
    files: [
      'test/**/*.ts',
      'scripts/**/*.ts',
      'bench/**/*.ts',
      'api/*/main.ts',
      'workers/main.ts',
      'api/cli/*.ts',
    ],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
);
