// The module's answers to settings, one line each, as explorer_answers gives them. (node answers.mjs
// explorer.wasm settings.txt, in the folder of the GGUF files)
import { readFileSync, writeSync } from 'node:fs';

const [wasm, settings] = process.argv.slice(2).map(file => readFileSync(file));
const fileOf = line => { try { return readFileSync(JSON.parse(line).gguf); } catch { return null; } };
const compiled = new WebAssembly.Module(wasm);
let instance;
const textAt = pointer => {
  const bytes = new Uint8Array(instance.exports.memory.buffer);
  return new TextDecoder().decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
};
const refuse = sentence => { throw new RangeError(textAt(sentence)); };
const imports = {};
for (const { module, name } of WebAssembly.Module.imports(compiled))
  (imports[module] ??= {})[name] = module === 'page' ? refuse : () => 8;

for (const line of settings.toString().trimEnd().split('\n')) {
  instance = new WebAssembly.Instance(compiled, imports);
  instance.exports._initialize();
  const text = new TextEncoder().encode(line);
  let answer;
  try {
    const file = fileOf(line);
    if (file !== null) {
      const at = instance.exports.file(file.length);
      new Uint8Array(instance.exports.memory.buffer).set(file, at);
    }
    const to = instance.exports.settings(text.length);
    new Uint8Array(instance.exports.memory.buffer).set(text, to);
    answer = JSON.parse(textAt(instance.exports.answer()));
    delete answer.figures;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    answer = { error: error.message };
  }
  writeSync(1, JSON.stringify(answer) + '\n');
}
