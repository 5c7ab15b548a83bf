// What a phone shows of a picture that examples/reporting drew: its charts one below the other, under its title
// as text. A picture without charts, or with many, stays whole below its title.

const unescaped = text => text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');

// { width, height, title, subtitle, views: places [x, y, width, height] in the picture }
export function partsOf(svg) {
  const [width, height] = svg.match(/ width='(\d+)' height='(\d+)'/).slice(1).map(Number);
  const texts = [...svg.matchAll(/<text x='([\d.]+)' y='([\d.]+)' font-size='(\d+)' class='(title|label)'>([^<]*)</g)]
    .slice(0, 2).map(([, x, y, size, style, text]) => ({ x, y: Number(y), size, style, text: unescaped(text) }));
  const title = texts[0]?.style === 'title' && texts[0].size >= 20 ? texts[0] : undefined;
  const subtitle = title && texts[1]?.style === 'label' && texts[1].x === title.x && texts[1].y - title.y < 30 ? texts[1] : undefined;
  const below = title ? (subtitle ?? title).y + 8 : 0;
  // A chart cuts its curves off by an svg element, its plot; around it are labels and titles.
  const around = { left: 70, right: 30, above: 58 };
  const plots = [...svg.matchAll(/<svg x='([\d.]+)' y='([\d.]+)' width='([\d.]+)' height='([\d.]+)'>/g)].map(plot => plot.slice(1).map(Number));
  const rows = [...new Set(plots.map(([, y]) => y))].sort((a, b) => a - b);
  const views = plots.map(([x, y, across]) => {
    const left = Math.max(0, x - around.left), right = Math.min(width, x + across + around.right);
    const top = Math.max(below, y - around.above), next = rows[rows.indexOf(y) + 1];
    return [left, top, right - left, (next === undefined ? height : next - around.above) - top];
  });
  const few = views.length > 1 && views.length <= 8;
  return { width, height, title: title?.text, subtitle: subtitle?.text, views: few ? views : [[0, below, width, height - below]] };
}

// The picture from this place on, in this size.
export const viewOf = (svg, [x, y, width, height]) => svg
  .replace(/ viewBox='[^']*' width='\d+' height='\d+'/, ` viewBox='${x} ${y} ${width} ${height}' width='${width}' height='${height}'`)
  .replace("<rect width='100%' height='100%' class='paper'/>", `<rect x='${x}' y='${y}' width='${width}' height='${height}' class='paper'/>`);
