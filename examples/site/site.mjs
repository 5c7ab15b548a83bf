// The site, in one folder that any web server or a Hugging Face Space shows: a front page, the explorer,
// and pages of examples/ as HTML with their pictures. (node site.mjs NAME=VALUE...: source, the checkout;
// explorer, its page; wasm, its module; cmark, the program cmark-gfm; reference, the folder of the
// reference, which is taken along if it is there; address of the repository, or nothing; place, the site's own
// address, or nothing; browser, Chromium for the picture that links show, or nothing; version; folder)
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { posencOf } from '../explorer/module.mjs';
import { partsOf, viewOf } from './pictures.mjs';

const { source, explorer, wasm, cmark, reference, address, place, browser, version, folder } =
  Object.fromEntries(process.argv.slice(2).map(argument => argument.split(/=(.*)/s)));
const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const read = file => readFileSync(file, 'utf8');
const filled = (text, values) => text.replace(/@([A-Z]+)@/g, (whole, name) => values[name] ?? whole);

const pages = [
  { file: 'explorer.html', name: 'Explorer', says: 'Choose a language model, or two, and see how the scores and weights of its heads change with distance.' },
  { file: 'beliefs.html', name: 'Beliefs', of: 'examples/beliefs/README.md', says: 'Beliefs about RoPE, each tested with numbers that a program computes.' },
  { file: 'first-principles.html', name: 'First principles', of: 'examples/README.md', section: 'principles', says: 'From attention without positions to RoPE, step by step, with a measured reason for each step.' },
  { file: 'gallery.html', name: 'Gallery', of: 'examples/README.md', section: 'Gallery', says: 'Figures show how attention sees position.' },
];
// Settings of the explorer for the beliefs that it shows, each found by a word of its title.
const shows = [
  [/falls with distance/, 'model=llama-2-7b'],
  [/slowest pair/, 'model=rule&rule=rope&base=10000&context=131072&with=rule&with-rule=rope&with-base=500000'],
  [/slow pairs/i, 'model=rule&rule=rope&base=10000&context=8192&with=rule&with-rule=rope&with-base=500000'],
  [/p-RoPE/, 'model=rule&rule=rope&base=10000&context=131072&with=rule&with-rule=p-rope&with-base=10000'],
  [/YaRN/, 'model=rule&rule=rope&base=500000&context=131072&with=rule&with-rule=yarn&with-base=500000&with-factor=16&with-trained=8192'],
];
const hasReference = existsSync(join(reference, 'index.html'));

// ---- Markdown

const anchorOf = heading => heading.replace(/<[^>]*>|&[a-z]+;/g, '').toLowerCase().replace(/[^a-z0-9_ -]/g, '').replace(/ /g, '-');
// A page, or the section of one, whose headings move up and whose title is the page's name.
function markdownOf({ of, section, name }) {
  const text = read(join(source, of));
  if (section === undefined) return text;
  const start = text.indexOf(`\n## ${section}\n`), end = text.indexOf('\n## ', start + 1);
  if (start < 0) throw new Error(`${of} must have a section ${section}`);
  return text.slice(start, end < 0 ? text.length : end).replace(/\n#(#+) /g, '\n$1 ').replace(/\n# .*/, `# ${name}`);
}
const htmlOf = markdown => execFileSync(cmark, ['-e', 'table'], { input: markdown, encoding: 'utf8' })
  // Each belief is a heading.
  .replace(/<p><strong>(&quot;.*?&quot;)<\/strong>\s*/gs, '<h2>$1</h2>\n<p>')
  .replace(/<h([2-6])>(.*?)<\/h\1>/gs, (_, level, heading) => `<h${level} id="${anchorOf(heading)}">${heading}</h${level}>`);

// Where each heading of examples/ is on the site.
const places = new Map(), bodies = new Map();
for (const page of pages.filter(page => page.of)) {
  const body = htmlOf(markdownOf(page));
  bodies.set(page, body);
  places.set(page.section ? `${page.of}#${anchorOf(page.section)}` : page.of, page.file);
  for (const [, id] of body.matchAll(/<h\d id="([^"]+)"/g)) places.set(`${page.of}#${id}`, `${page.file}#${id}`);
}
places.set('examples/README.md#explorer', 'explorer.html');

// ---- Links and pictures

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'pictures'), { recursive: true });
const pictures = new Map();  // by name, the file
function picture(file) {
  const name = basename(file);
  if ((pictures.get(name) ?? file) !== file) throw new Error(`pictures must differ in their names: ${pictures.get(name)}, ${file}`);
  pictures.set(name, file);
  copyFileSync(join(source, file), join(folder, 'pictures', name));
  return `pictures/${name}`;
}
// On a desk the whole picture; on a phone its parts. (page.html says which)
function figureOf(file, alt) {
  const svg = read(join(source, file)), { width, height, title, subtitle, views } = partsOf(svg), to = picture(file);
  const plain = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const parts = views.map((view, i) => {
    const part = to.replace(/\.svg$/, `_${i + 1}.svg`);
    writeFileSync(join(folder, part), viewOf(svg, view));
    return { src: part, width: view[2], height: view[3] };
  });
  const caption = title ? `<figcaption>${plain(title)}${subtitle ? `<small>${plain(subtitle)}</small>` : ''}</figcaption>` : '';
  const whole = `<a href="${to}"><picture>${views.length > 1 ? '' : `<source media="(max-width: 600px)" srcset="${parts[0].src}" width="${parts[0].width}" height="${parts[0].height}">`
    }<img src="${to}" width="${width}" height="${height}" alt="${alt}"></picture></a>`;
  if (views.length === 1) return `<figure class="picture scrolls">${caption}<p class="hint">Scroll the picture sideways, or tap it.</p><div>${whole}</div></figure>`;
  const panels = parts.map((part, i) => `<img src="${part.src}" width="${part.width}" height="${part.height}" loading="lazy" alt="${i === 0 ? alt : ''}">`);
  return `<figure class="picture split">${caption}${whole}<div class="panels">${panels.join('')}</div></figure>`;
}
function linked(page, body) {
  const resolved = target => target.startsWith('#') ? page.of + target : posix.normalize(posix.join(posix.dirname(page.of), target));
  return body
    .replace(/<p><img src="([^"]+)" alt="([^"]*)" \/><\/p>/g, (_, target, alt) => figureOf(resolved(target), alt))
    .replace(/<a href="(?!pictures\/)([^"]+)">(.*?)<\/a>/gs, (whole, target, text) => {
      if (/^[a-z]+:/.test(target)) return whole;
      const path = resolved(target), [file, anchor] = path.split('#');
      const place = places.get(path) ?? places.get(file);
      if (place) return `<a href="${place}">${text}</a>`;
      if (!existsSync(join(source, file))) throw new Error(`${page.of}: ${target} is not there`);
      const kind = statSync(join(source, file)).isDirectory() ? 'tree' : 'blob';
      return address ? `<a href="${address}/${kind}/main/${file}${anchor ? `#${anchor}` : ''}">${text}</a>` : text;
    });
}

// ---- Pages

const navigationStyle = `<style>
nav.site { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding-bottom: .5rem; margin-bottom: .8rem; border-bottom: 1px solid var(--line) }
nav.site a { color: var(--accent); padding: .25rem 0 } nav.site a[aria-current] { color: inherit; font-weight: 600; text-decoration: none }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
</style>`;
const links = current => `<nav class="site" aria-label="Site">${
  [{ file: 'index.html', name: 'posenc' }, ...pages, ...(hasReference ? [{ file: 'reference/index.html', name: 'Reference' }] : [])]
    .map(({ file, name }) => `<a href="${file}"${file === current ? ' aria-current="page"' : ''}>${name}</a>`).join('\n')}</nav>`;
const from = address ? ` <a href="${address}">Source</a>.` : '';
const template = read(join(here, 'page.html'));
// What a link to a page shows elsewhere: title, a sentence, and a picture.
const escaped = text => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
const metaOf = (file, title, says) => [
  ['name', 'description', says], ['property', 'og:type', 'website'], ['property', 'og:title', title], ['property', 'og:description', says],
  ...place ? [['property', 'og:url', `${place}/${file}`]] : [],
  ...browser ? [['property', 'og:image', `${place ? `${place}/` : ''}preview.png`], ['property', 'og:image:width', '1200'], ['property', 'og:image:height', '630'],
    ['property', 'og:image:alt', 'Mean score against distance, of two models'], ['name', 'twitter:card', 'summary_large_image']] : [],
].map(([kind, name, content]) => `<meta ${kind}="${name}" content="${escaped(content)}">`).join('\n') + '\n<link rel="icon" href="icon.svg">';
const write = (file, title, says, main) => writeFileSync(join(folder, file), filled(template,
  { TITLE: title, META: metaOf(file, title, says), NAVIGATION: navigationStyle, LINKS: links(file), MAIN: main, VERSION: version, SOURCE: from }));

for (const [page, body] of bodies) {
  const text = linked(page, body), shown = page.name !== 'Beliefs' ? text : text.replace(/(<h2[^>]*>(&quot;.*?&quot;)<\/h2>.*?)(?=<h2|$)/gs, (_, belief, title) => {
    const settings = shows.find(([said]) => said.test(title))?.[1];
    return settings ? `${belief}<p class="try"><a href="explorer.html#${escaped(settings)}">See it in the explorer</a></p>\n` : belief;
  });
  write(page.file, `${page.name}: posenc`, page.says, shown);
}
writeFileSync(join(folder, 'explorer.html'), read(explorer).replace(/<meta name="description".*>\n/, () => `${metaOf('explorer.html', 'Explorer: posenc', pages[0].says)}\n`)
  .replace('</head>', () => `${navigationStyle}</head>`).replace('<body>', () => `<body>\n${links('explorer.html')}`));
writeFileSync(join(folder, 'icon.svg'), `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0b62c4"/>
<path d="M4 16 ${Array.from({ length: 49 }, (_, i) => `L${4 + i / 2} ${(16 - 10 * Math.exp(-i / 30) * Math.cos(i / 4)).toFixed(1)}`).join('')}" fill="none" stroke="#fff" stroke-width="2.5" stroke-linejoin="round"/></svg>\n`);

// The first picture is what the explorer shows of two models.
const models = readdirSync(join(source, 'examples/models')).map(file => file.replace(/\.json$/, ''));
const posenc = posencOf(readFileSync(wasm));
const asked = (model, name) => ({ config: read(join(source, `examples/models/${model}.json`)), kind: 0, name });
const first = ['llama-2-7b', 'llama-3.1-8b'], names = ['Llama 2 7B', 'Llama 3.1 8B'], tokens = 131072;
const answered = width => posenc(JSON.stringify({ ...asked(first[0], names[0]), with: asked(first[1], names[1]), context: tokens, rho: 1, spread: 10, width }));
const chartOf = answer => answer.charts.find(({ title }) => title === 'Mean score').svg;
const both = answered(940);
for (const [name, text] of [['first', chartOf(both)], ['first_phone', chartOf(answered(320))],
  ['explorer', chartOf(posenc(JSON.stringify({ ...asked(first[1], names[1]), context: tokens, rho: 1, spread: 10 })))]])
  writeFileSync(join(folder, `pictures/${name}.svg`), text);
const reached = both.facts.find(([name]) => name.startsWith('first distance')).slice(1).map(value => (value - 1).toLocaleString('en'));

const front = read(join(here, 'front.html'));
for (const [, name] of front.matchAll(/pictures\/([a-z_]+)\.svg/g))
  if (!['explorer', 'first', 'first_phone'].includes(name) && !pictures.has(`${name}.svg`)) throw new Error(`no page has the picture ${name}.svg of the front page`);
const beliefs = [...bodies.get(pages[1]).matchAll(/<h2[^>]*>(&quot;.*?&quot;)/gs)].map(([, belief]) => belief);
const told = [['bloom-176b', 'BLOOM', 'ALiBi'], ['gemma-3-27b', 'Gemma 3 27B', 'windows'], ['gpt-oss-20b', 'gpt-oss 20B', 'YaRN'], ['deepseek-v3', 'DeepSeek V3', 'MLA'],
  ['qwen3-8b', 'Qwen 3 8B', 'RoPE'], ['llama-4-scout', 'Llama 4 Scout', 'chunks, NoPE'], ['gemma-4-31b', 'Gemma 4 31B', 'p-RoPE'], ['t5-small', 'T5', 'buckets']].filter(([model]) => models.includes(model));
const [width, height] = chartOf(both).match(/ width='(\d+)' height='(\d+)'/).slice(1);
const title = 'How far back does a language model see?';
write('index.html', `${title} posenc`, `RoPE, ALiBi and other positional encodings of ${models.length} language models: how the scores of their heads change with distance.`, filled(front, {
  REACH: names.map((name, i) => `<span><b>${reached[i]} tokens</b> ${name}</span>`).join('\n'), FIRST: `model=${first[0]}&amp;with=${first[1]}`, WIDTH: width, HEIGHT: height,
  SHOWN: told.map(([model, name, kind]) => `<li><a href="explorer.html#model=${model}">${name}: ${kind}</a></li>`).join('\n'),
  LIBRARY: address ? `<a href="${address}">posenc</a>` : 'posenc', CODE: address ? ` The <a href="${address}">code</a> has the MIT licence.` : ' It has the MIT licence.',
  CITATION: `@software{posenc,\n  title   = {posenc: transformer positional encodings in C++},\n  author  = {The posenc authors},\n  version = {${version}},${address ? `\n  url     = {${address}},` : ''}\n}`,
  MODELS: models.length, BELIEF: beliefs[0], BELIEFS: beliefs.length, FIGURES: [...bodies.get(pages[3]).matchAll(/<img /g)].length }));
if (browser) {
  const made = mkdtempSync(join(tmpdir(), 'posenc-')), preview = join(made, 'preview.html');
  writeFileSync(preview, `<!doctype html><meta charset="utf-8"><style>body { margin: 0; width: 1200px; height: 630px; overflow: hidden; background: #fff; color: #222; font-family: system-ui, sans-serif }
h1 { font-size: 46px; margin: 40px 60px 0; white-space: nowrap } p { font-size: 30px; margin: 8px 60px 0 } svg { display: block; width: 1100px; height: auto; margin: 0 40px } svg text { font-size: 17px }</style>
<h1>${title}</h1><p>${names.map((name, i) => `${name}: <b>${reached[i]}</b> tokens`).join(' \u2003 ')}</p>${chartOf(both)}<p>RoPE, ALiBi and others, in ${models.length} models</p>`);
  execFileSync(browser, ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', `--user-data-dir=${made}`, '--window-size=1200,630', `--screenshot=${join(folder, 'preview.png')}`, `file://${preview}`], { stdio: 'ignore' });
  rmSync(made, { recursive: true, force: true });
}
writeFileSync(join(folder, 'README.md'), filled(read(join(here, 'README.md.in')), { VERSION: version, SOURCE: address ? ` Its source is ${address}.` : '' }));
copyFileSync(join(source, 'LICENSE'), join(folder, 'LICENSE'));
if (hasReference) cpSync(reference, join(folder, 'reference'), { recursive: true });
