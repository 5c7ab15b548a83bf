// The module's answers to settings, one line each, as explorer_answers gives them. (node answers.mjs
// explorer.wasm settings.txt, in the folder of the GGUF files)
import { readFileSync, writeSync } from 'node:fs';
import { posencOf } from './module.mjs';

const [wasm, settings] = process.argv.slice(2).map(file => readFileSync(file));
const fileOf = line => { try { return readFileSync(JSON.parse(line).gguf); } catch { return null; } };
const posenc = posencOf(wasm);
for (const line of settings.toString().trimEnd().split('\n')) {
  let answer;
  try {
    answer = posenc(line, fileOf(line));
    answer.charts = answer.charts.map(({ title, curves }) => [title, ...curves.map(({ name }) => name)]);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    answer = { error: error.message };
  }
  writeSync(1, JSON.stringify(answer) + '\n');
}
