// The site is whole: every link leads to a file of it, to a heading if it names one, and it fetches nothing.
// In a browser without a window, if one is given: at a phone's width and a desk's, bright and dark, no page
// scrolls sideways or prints an error, Tab reaches every link and control in their order and shows where it
// is, and text has a contrast of 4.5. (node check.mjs FOLDER [BROWSER [PICTURES]]; PICTURES: a folder for
// what was seen)
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
  for (const [, kind, target] of text.matchAll(/(href|src)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(target)) {
      if (kind === 'src') wrong.push(`${file} must fetch nothing, fetches ${target}`);
      continue;
    }
    const [to, anchor] = target.split('#');
    if (!existsSync(join(folder, to || file))) wrong.push(`${file}: ${target} is not there`);
    else if (anchor && (to || file) !== 'explorer.html' && !ids.get(to || file)?.has(anchor)) wrong.push(`${file}: ${target} names no heading`);
  }
}

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
const sideways = () => {
  const { scrollWidth: width, clientWidth: seen } = document.documentElement;
  const wide = [...document.querySelectorAll('body *')].find(element => element.getBoundingClientRect().right > seen + 1);
  return width > seen ? `${width} of ${seen}, by ${wide?.tagName} ${wide?.id} ${wide?.className}` : '';
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
  const addresses = [...files, 'explorer.html#model=llama-3.1-8b&context=8192', 'explorer.html#model=config', 'explorer.html#model=rule&rule=yarn'];
  for (const address of addresses)
    for (const width of [390, 1280])
      for (const scheme of ['light', 'dark']) {
        page = `${address}, ${width} wide, ${scheme}`;
        await call('Emulation.setDeviceMetricsOverride', { width, height: 844, deviceScaleFactor: 1, mobile: width === 390 });
        await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
        const loaded = new Promise(done => heard.push(({ method }) => method === 'Page.loadEventFired' && done()));
        await call('Page.navigate', { url: 'about:blank' });
        await call('Page.navigate', { url: `file://${resolve(folder)}/${address}` });
        await loaded;
        await inPage(() => new Promise(done => setTimeout(done, 400)));
        const scrolls = await inPage(sideways);
        if (scrolls) wrong.push(`${page}: scrolls sideways, ${scrolls}`);
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
  await send('Browser.close');
  await new Promise(done => process_.on('exit', done));
  rmSync(profile, { recursive: true, force: true });
}
if (browser) await inBrowser();
if (wrong.length) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
