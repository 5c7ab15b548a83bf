// posenc in WebAssembly, for node: posencOf(bytes of explorer.wasm) answers settings, as text, with the bytes
// of a GGUF file that they name, or null. An error of posenc is a RangeError.
export function posencOf(wasm) {
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
  const put = (bytes, start) => new Uint8Array(instance.exports.memory.buffer).set(bytes, start);
  return (settings, file = null) => {
    instance = new WebAssembly.Instance(compiled, imports);
    instance.exports._initialize();
    const text = new TextEncoder().encode(settings);
    if (file !== null) put(file, instance.exports.file(file.length));
    put(text, instance.exports.settings(text.length));
    return JSON.parse(textAt(instance.exports.answer()));
  };
}
