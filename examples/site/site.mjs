// The site, in one folder that any web server or a Hugging Face Space shows: a front page, the explorer,
// and pages of examples/ as HTML with their pictures. (node site.mjs NAME=VALUE...: source, the checkout;
// explorer, its page; wasm, its module; cmark, the program cmark-gfm; reference, the folder of the
// reference, which is taken along if it is there; address of the repository, or nothing; version; folder)
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { posencOf } from '../explorer/module.mjs';

const { source, explorer, wasm, cmark, reference, address, version, folder } =
  Object.fromEntries(process.argv.slice(2).map(argument => argument.split(/=(.*)/s)));
const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const read = file => readFileSync(file, 'utf8');
const filled = (text, values) => text.replace(/@([A-Z]+)@/g, (whole, name) => values[name] ?? whole);

const pages = [
  { file: 'explorer.html', name: 'Explorer' },
  { file: 'beliefs.html', name: 'Beliefs', of: 'examples/beliefs/README.md' },
  { file: 'first-principles.html', name: 'First principles', of: 'examples/README.md', section: 'from_first_principles' },
  { file: 'gallery.html', name: 'Gallery', of: 'examples/README.md', section: 'Gallery' },
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
const sizeOf = file => read(join(source, file)).match(/ width='(\d+)' height='(\d+)'/).slice(1);
function linked(page, body) {
  const resolved = target => target.startsWith('#') ? page.of + target : posix.normalize(posix.join(posix.dirname(page.of), target));
  return body
    .replace(/<img src="([^"]+)" alt="([^"]*)" \/>/g, (_, target, alt) => {
      const file = resolved(target), [width, height] = sizeOf(file), to = picture(file);
      return `<a href="${to}"><img src="${to}" width="${width}" height="${height}" alt="${alt}"></a>`;
    })
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
const write = (file, title, main) => writeFileSync(join(folder, file), filled(template,
  { TITLE: title, NAVIGATION: navigationStyle, LINKS: links(file), MAIN: main, VERSION: version, SOURCE: from }));

for (const [page, body] of bodies) write(page.file, `${page.name}: posenc`, linked(page, body));
writeFileSync(join(folder, 'explorer.html'), read(explorer).replace('</head>', () => `${navigationStyle}</head>`)
  .replace('<body>', () => `<body>\n${links('explorer.html')}`));

// The explorer's picture is what it shows: the second chart, of a model's scores.
const models = readdirSync(join(source, 'examples/inspect_model/models'));
const config = read(join(source, 'examples/inspect_model/models/llama-3.1-8b.json'));
const shown = posencOf(readFileSync(wasm))(JSON.stringify({ config, kind: 0, context: 131072, rho: 1, spread: 10 })).charts.map(({ svg }) => svg);
writeFileSync(join(folder, 'pictures/explorer.svg'), shown.find(chart => chart.includes('>Mean score')));

const front = read(join(here, 'front.html'));
for (const [, name] of front.matchAll(/pictures\/([a-z_]+)\.svg/g))
  if (name !== 'explorer' && !pictures.has(`${name}.svg`)) throw new Error(`no page has the picture ${name}.svg of the front page`);
const beliefs = [...bodies.get(pages[1]).matchAll(/<h2[^>]*>(&quot;.*?&quot;)/gs)].map(([, belief]) => belief);
write('index.html', 'posenc: how attention sees position', filled(front, {
  LIBRARY: address ? `<a href="${address}">posenc</a>` : 'posenc', MODELS: models.length, BELIEF: beliefs[0], BELIEFS: beliefs.length,
  FIGURES: [...bodies.get(pages[3]).matchAll(/<img /g)].length }));
writeFileSync(join(folder, 'README.md'), filled(read(join(here, 'README.md.in')), { VERSION: version, SOURCE: address ? ` Source: ${address}` : '' }));
copyFileSync(join(source, 'LICENSE'), join(folder, 'LICENSE'));
if (hasReference) cpSync(reference, join(folder, 'reference'), { recursive: true });
