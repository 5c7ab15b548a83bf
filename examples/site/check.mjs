// The site is whole: every link leads to a file of it, to a heading if it names one, it fetches nothing, and
// each page says what it is where others show a link to it. In a browser without a window, if one is given:
// at a phone's width and a desk's, bright and dark, no page scrolls sideways or prints an error, Tab reaches
// every link and control in their order and shows where it is, text has a contrast of 4.5, and a phone cuts no
// heading and no picture without saying so. The explorer shows values under the pointer and by keyboard, saves
// pictures and numbers, and its address carries what is shown. (node check.mjs FOLDER [BROWSER [PICTURES]];
// PICTURES: a folder for what was seen)
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [folder, browser, pictures] = process.argv.slice(2);
const files = readdirSync(folder).filter(file => file.endsWith('.html'));
const wrong = [];

// ---- Files

for (const file of ['index.html', 'explorer.html', 'beliefs.html', 'first-principles.html', 'gallery.html'])
  if (!files.includes(file)) wrong.push(`${file} must be there`);
if (!/^---\n(?:.+\n)*sdk: static\n(?:.+\n)*app_file: index.html\n(?:.+\n)*---\n/.test(readFileSync(join(folder, 'README.md'), 'utf8')))
  wrong.push('README.md must begin with the header of a static Space');
const ids = new Map(files.map(file => [file, new Set([...readFileSync(join(folder, file), 'utf8').matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]));
for (const file of files) {
  const text = readFileSync(join(folder, file), 'utf8').replace(/<script.*<\/script>/s, '');
  if (/@[A-Z]+@/.test(text)) wrong.push(`${file}: ${text.match(/@[A-Z]+@/)[0]} is not filled`);
  for (const [, kind, target] of text.matchAll(/(href|src|srcset)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(target)) {
      if (kind !== 'href') wrong.push(`${file} must fetch nothing, fetches ${target}`);
      continue;
    }
    const [to, anchor] = target.split('#');
    if (!existsSync(join(folder, to || file))) wrong.push(`${file}: ${target} is not there`);
    else if (anchor && (to || file) !== 'explorer.html' && !ids.get(to || file)?.has(anchor)) wrong.push(`${file}: ${target} names no heading`);
  }
}

// What a link to a page shows elsewhere.
const metaIn = text => Object.fromEntries([...text.matchAll(/<meta (?:name|property)="([^"]+)" content="([^"]*)">/g)].map(([, name, content]) => [name, content]));
for (const file of files) {
  const meta = metaIn(readFileSync(join(folder, file), 'utf8'));
  for (const name of ['description', 'og:title', 'og:description'])
    if (!(meta[name]?.length > 10 && meta[name].length <= 200)) wrong.push(`${file} must have ${name} of 11 to 200 letters, has ${meta[name]}`);
  if (!browser) continue;
  const picture = join(folder, (meta['og:image'] ?? 'none').split('/').at(-1));
  const bytes = existsSync(picture) ? readFileSync(picture) : Buffer.alloc(24);
  if (bytes.toString('latin1', 1, 4) !== 'PNG' || bytes.readUInt32BE(16) !== 1200 || bytes.readUInt32BE(20) !== 630)
    wrong.push(`${file} must have a PNG of 1200 x 630 as og:image, has ${meta['og:image']}`);
}
if ([...readFileSync(join(folder, 'beliefs.html'), 'utf8').matchAll(/href="explorer.html#model=/g)].length < 4)
  wrong.push('beliefs.html must lead to the explorer four times or more');

// ---- In a browser

// Runs in the page. What Tab must reach: its place in the document, and whether it has the focus visibly.
const controls = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
  .filter(element => element.checkVisibility() && !element.disabled && element.tabIndex >= 0);
const focused = () => {
  const element = document.activeElement, style = getComputedStyle(element);
  return { at: controls().indexOf(element), name: `${element.tagName} ${element.id || element.textContent.trim().slice(0, 30)}`,
    visible: element.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 };
};
// Text whose contrast with what it stands on is below 4.5, by the formula of WCAG.
const faint = () => {
  const parsed = color => { const n = color.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = ([r, g, b, a], under) => [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
  const light = rgb => rgb.map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * x, 0);
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  const under = element => element === null ? canvas : over(parsed(getComputedStyle(element).backgroundColor), under(element.parentElement));
  const opacity = element => element === null ? 1 : getComputedStyle(element).opacity * opacity(element.parentElement);
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest('svg, script, option') || !element.checkVisibility()) continue;
    const ground = under(element), [r, g, b, a] = parsed(getComputedStyle(element).color);
    const [dim, bright] = [light(over([r, g, b, a * opacity(element)], ground)), light(ground)].sort((x, y) => x - y);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} of "${texts.currentNode.data.trim().slice(0, 30)}"`);
  }
  return found.slice(0, 3);
};
// Pictures and headings that a phone cuts: what is wider than its place, but for a picture that says so.
const cut = () => {
  const found = [], seen = document.documentElement.clientWidth;
  for (const element of document.querySelectorAll('main :is(h1, h2, h3, figcaption, img)')) {
    if (!element.checkVisibility()) continue;
    const { right } = element.getBoundingClientRect(), hint = element.closest('.scrolls')?.querySelector('.hint');
    if (hint?.checkVisibility() && element.tagName === 'IMG') continue;
    if (right > seen + 1 || element.scrollWidth > element.clientWidth + 1)
      found.push(`${element.tagName} ${element.textContent.slice(0, 30)}${element.src ?? ''}`);
  }
  for (const text of document.querySelectorAll('.plot text')) if (text.textContent.endsWith('…')) found.push(`a text of a chart, ${text.textContent}`);
  return found.slice(0, 3);
};
const sideways = () => {
  const { scrollWidth: width, clientWidth: seen } = document.documentElement;
  const wide = [...document.querySelectorAll('body *')].find(element => element.getBoundingClientRect().right > seen + 1);
  return width > seen ? `${width} of ${seen}, by ${wide?.tagName} ${wide?.id} ${wide?.className}` : '';
};

// Runs in the explorer, of Llama 2 and BLOOM. Values under the pointer and in saved files are those of the
// formulas: RoPE's mean score of equal vectors, sqrt(128) / 64 sum_i cos(r 10000^(-i / 64)), and ALiBi's bias.
const values = async () => {
  const rope = r => Math.sqrt(128) / 64 * Array.from({ length: 64 }, (_, i) => Math.cos(r * 10000 ** (-i / 64))).reduce((a, b) => a + b);
  const close = (given, right) => Math.abs(given - right) <= 6e-4 * Math.abs(right) + 1e-4 || `${given}, not ${right}`;
  const number = text => Number(text.replace(/,/g, ''));
  const plots = [...document.querySelectorAll('.plot')], of = title => plots.find(plot => plot.getAttribute('aria-label').startsWith(title));
  const said = plot => ({ x: number(plot.querySelector('.readout b').textContent.replace(/.*: /, '')),
    values: Object.fromEntries([...plot.querySelectorAll('.readout div')].map(row => [row.childNodes[1].data, number(row.lastChild.textContent)])) });
  const found = {}, score = of('Mean score'), box = score.querySelector('svg svg').getBoundingClientRect();
  score.dispatchEvent(new PointerEvent('pointermove', { clientX: box.x + box.width / 2, clientY: box.y + 5 }));
  const shown = said(score);
  found['the pointer shows values'] = !score.querySelector('.readout').hidden;
  found['at half of the axis, at the root of its end'] = Math.abs(shown.x / Math.sqrt(8191) - 1) < 0.05 || shown.x;
  found['they are RoPE\'s mean score'] = close(shown.values['llama-2-7b'], rope(shown.x));
  found['a dot lies on each curve'] = score.querySelectorAll('.cursor circle').length >= 2;
  const bias = of('ALiBi');
  bias.focus();
  const now = () => Number(bias.getAttribute('aria-valuenow')), before = now();
  const press = key => bias.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  press('ArrowRight');
  found['the right arrow moves by one'] = now() === before + 1;
  press('Home'), press('PageUp');
  found['a page moves by 16'] = now() === 16;
  const { x, values: biases } = said(bias), flattest = biases['head 63, slope 0.00391'];
  found['keys show values'] = !bias.querySelector('.readout').hidden;
  found['they are ALiBi\'s bias'] = close(flattest, -(2 ** -8) * x);
  found['screen readers hear them'] = bias.getAttribute('aria-valuetext').includes(`head 63, slope 0.00391 ${flattest}`);
  press('Escape');
  found['Escape hides them'] = bias.querySelector('.readout').hidden;
  const saved = {};
  URL.createObjectURL = (create => blob => { saved.blob = blob; return create(blob); })(URL.createObjectURL.bind(URL));
  HTMLAnchorElement.prototype.click = function () { saved.name = this.download, saved.whole = saved.blob; };
  const save = async kind => {
    delete saved.name;
    document.querySelector(`[aria-label="Save Mean score as ${kind}"]`).click();
    while (saved.name === undefined) await new Promise(done => setTimeout(done, 20));
    return saved;
  };
  const rows = (await (await save('CSV')).whole.text()).trim().split('\n');
  found['a CSV file has a name'] = saved.name === 'llama-2-7b-and-bloom-176b-mean-score.csv' || saved.name;
  found['a CSV file has a head'] = rows[0].startsWith('"distance, tokens",llama-2-7b,"head 64, slope 0.958",') || rows[0];
  found['a CSV file ends at the context'] = rows.at(-1).startsWith('8191,') || rows.at(-1);
  found['a CSV file has the scores'] = rows.slice(1).map(row => row.split(',').map(Number)).every(([r, s]) => Math.abs(s - rope(r)) < 1e-9);
  found['an SVG file is a picture'] = (await (await save('SVG')).whole.text()).startsWith('<svg xmlns') && saved.name.endsWith('.svg');
  found['a PNG file is a picture'] = new TextDecoder('latin1').decode(await (await save('PNG')).whole.slice(1, 4).arrayBuffer()) === 'PNG' && saved.name.endsWith('.png');
  return found;
};
// Runs in the explorer. Its address has what is shown, and nothing of a file that was there before.
const carried = async () => {
  const found = {}, hash = () => decodeURIComponent(location.hash), text = id => document.getElementById(id).textContent;
  found['it opens on a model, which the address names'] = hash() === '#model=llama-3.1-8b&context=131072' || hash();
  const config = JSON.stringify({ model_type: 'llama', num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, rope_theta: 10000, max_position_embeddings: 2048 });
  await take(new File([config], 'config.json'));
  found['a config.json is in the address'] = hash().includes('max_position_embeddings') || hash();
  const safetensors = new File([new Uint8Array([8, 0, 0, 0, 0, 0, 0, 0]), '{"__metadata__":{}}'], 'model.safetensors'), before = hash();
  await take(safetensors);
  found['another file is refused'] = text('error').includes('got model.safetensors') || text('error');
  found['and changes no address'] = hash() === before && !document.getElementById('main').hidden || hash();
  await take(new File(['GGUF, and not whole'], 'my.gguf'));
  found['a GGUF file leaves nothing of a config.json in the address'] = hash().startsWith('#model=config') && !hash().includes('config=') || hash();
  found['a GGUF file leaves nothing of a config.json in the form'] = document.getElementById('config').value === '';
  found['no chart stays that is not of these settings'] = document.getElementById('main').hidden;
  location.hash = '#model=rule&rule=alibi&heads=8';
  await new Promise(done => setTimeout(done, 500));
  found['a rule is shown by its address'] = text('name') === 'ALiBi, 8 heads' || text('name');
  location.hash = '#model=llama-2-7b';
  await new Promise(done => setTimeout(done, 500));
  found['an address without a context means that of the model'] = hash() === '#model=llama-2-7b&context=4096' || hash();
  found['the title names the model'] = document.title === 'llama-2-7b: posenc explorer' || document.title;
  return found;
};

async function inBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'posenc-'));
  const process_ = spawn(browser, ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--allow-file-access-from-files'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map(), heard = [];
  let last = 0, left = '';
  process_.stdio[4].on('data', data => {
    const messages = (left + data).split('\0');
    left = messages.pop();
    for (const message of messages.map(text => JSON.parse(text))) {
      if (message.id) waiting.get(message.id)(message);
      else heard.forEach(listener => listener(message));
    }
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((done, failed) => {
    waiting.set(++last, ({ result, error }) => error ? failed(new Error(`${method}: ${error.message}`)) : done(result));
    process_.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
  });
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  const inPage = async (of, ...needed) => (await call('Runtime.evaluate',
    { expression: `{ ${needed.map(f => `const ${f.name} = ${f};`).join('\n')} (${of})() }`, returnByValue: true, awaitPromise: true })).result.value;
  const key = type => call('Input.dispatchKeyEvent', { type, key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 });
  let page;
  heard.push(({ method, params }) => {
    if (method === 'Runtime.exceptionThrown') wrong.push(`${page}: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') wrong.push(`${page}: ${params.entry.text}`);
  });
  for (const domain of ['Page', 'Runtime', 'Log']) await call(`${domain}.enable`);
  const open = async address => {
    const loaded = new Promise(done => heard.push(({ method }) => method === 'Page.loadEventFired' && done()));
    await call('Page.navigate', { url: 'about:blank' });
    await call('Page.navigate', { url: `file://${resolve(folder)}/${address}` });
    await loaded;
    await inPage(() => new Promise(done => setTimeout(done, 400)));
  };
  const addresses = [...files, 'explorer.html#model=bloom-176b&with=llama-2-7b', 'explorer.html#model=config', 'explorer.html#model=rule&rule=yarn'];
  for (const address of addresses)
    for (const width of [390, 1280])
      for (const scheme of ['light', 'dark']) {
        page = `${address}, ${width} wide, ${scheme}`;
        await call('Emulation.setDeviceMetricsOverride', { width, height: 844, deviceScaleFactor: 1, mobile: width === 390 });
        await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
        await open(address);
        const scrolls = await inPage(sideways);
        if (scrolls) wrong.push(`${page}: scrolls sideways, ${scrolls}`);
        const lost = width === 390 ? await inPage(cut) : [];
        if (lost.length) wrong.push(`${page}: cuts ${lost.join(', ')}`);
        const dim = await inPage(faint);
        if (dim.length) wrong.push(`${page}: contrast ${dim.join(', ')}`);
        if (pictures) {
          const { data } = await call('Page.captureScreenshot', { captureBeyondViewport: width === 390 });
          writeFileSync(join(pictures, `${page.replace(/[^a-z0-9.]+/g, '-')}.png`), Buffer.from(data, 'base64'));
        }
        if (scheme === 'dark') continue;
        const count = await inPage(() => controls().length, controls);
        for (let i = 0; i < count; ++i) {
          await key('keyDown'), await key('keyUp');
          const { at, name, visible } = await inPage(focused, controls);
          if (at !== i || !visible) {
            wrong.push(`${page}: Tab ${i + 1} of ${count} must reach control ${i} visibly, reaches ${at}, ${name}, ${visible ? '' : 'not '}visibly`);
            break;
          }
        }
      }
  page = 'explorer.html';
  await call('Emulation.setDeviceMetricsOverride', { width: 1280, height: 1600, deviceScaleFactor: 1, mobile: false });
  await open('explorer.html#model=llama-2-7b&context=8192&with=bloom-176b');
  for (const [what, right] of Object.entries(await inPage(values))) if (right !== true) wrong.push(`the explorer: ${what}: ${right}`);
  await open('explorer.html');
  for (const [what, right] of Object.entries(await inPage(carried))) if (right !== true) wrong.push(`the explorer: ${what}: ${right}`);
  await send('Browser.close');
  await new Promise(done => process_.on('exit', done));
  rmSync(profile, { recursive: true, force: true });
}
if (browser) await inBrowser();
if (wrong.length) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
