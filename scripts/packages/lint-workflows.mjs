// Checks GitHub workflows with actionlint, which scripts/install-test-needs fetches.
//
//   node scripts/packages/lint-workflows.mjs DIRECTORY-OF-ACTIONLINT FILE...
//
// Prints the findings as JSON.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [directory, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(import.meta.url)(resolve(directory, 'package/node.cjs'));
const lint = await createLinter();
// Its rules are of 2023 and do not know the context `vars` of the repository's variables.
const known = (finding) => finding.kind === 'expression' && finding.message.startsWith('undefined variable "vars".');
const findings = files.flatMap((file) => lint(readFileSync(file, 'utf8'), file)).filter((finding) => !known(finding));
console.log(JSON.stringify(findings));
