// Mutes: which stand, how to end one, and a form for more. A form is kept as long as the page is open: what
// somebody has typed outlives a redrawing of what is around it. The token is kept in memory alone.
import { clock, element, span } from './text.js';

let token = '';
const forms = new Map(); // by fabric and places

// "90", "30m", "4h", "2d" to minutes; NaN where it is none of these.
export function minutesOf(text) {
  const match = /^(\d+(?:\.\d+)?)\s*(m|min|h|d)?$/.exec(text.trim());
  return match ? Math.round(Number(match[1]) * { m: 1, min: 1, h: 60, d: 1440 }[match[2] ?? 'm']) : NaN;
}

const whenText = (mute, now) => (mute.from > now ? `from ${clock(mute.from)} ` : '') + `until ${clock(mute.until)} (${span(mute.until - Math.max(now, mute.from))})`;

// `context`: {fabric, mayChange, now, mutes, add(wish, token), remove(place, token)}; `fits`: of which mutes.
export function standingMutes(context, fits) {
  const list = (context.mutes ?? []).filter((mute) => fits(mute.place));
  return list.map((mute) => {
    const end = async () => {
      const said = document.querySelector('form.mute output'); // what is beside a mute is drawn anew all the time
      const error = await attempt(said, mute.place, () => context.remove(mute.place, token), () => `${mute.place} is muted no longer`);
      if (error?.status === 401) document.querySelector('form.mute input[name="token"]')?.focus();
    };
    return element('div', { class: 'standing', 'data-mute': mute.place },
      element('b', {}, mute.place), element('div', {}, mute.reason),
      element('div', { class: 'faint' }, `${whenText(mute, context.now)}, by ${mute.who}`),
      context.mayChange ? element('button', { type: 'button', onclick: end, 'aria-label': `end the mute of ${mute.place}` }, 'end it') : null);
  });
}

function tokenField() {
  const field = element('input', { name: 'token', type: 'password', placeholder: 'token', 'aria-label': 'token', autocomplete: 'off', class: 'token', oninput: () => (token = field.value) });
  field.value = token;
  return field;
}

async function attempt(said, place, work, done) {
  said.textContent = '...';
  try {
    await work();
    said.textContent = done();
  } catch (error) {
    said.textContent = `${place}: ${error.message}`;
    return error;
  }
  return null;
}

// `places`: what it mutes; empty: the user says.
export function muteForm(context, places) {
  if (!context.mayChange)
    return element('p', { class: 'faint' }, 'This page is read-only. On the watcher: ', element('code', {}, `weft mute add '${places[0] ?? 'LINK|NODE'}' --for 4h --reason TEXT`));
  const key = [context.fabric, ...places].join('\n');
  if (!forms.has(key)) forms.set(key, makeForm(places));
  const form = forms.get(key);
  form.context = context;
  if (form.elements.token !== document.activeElement) form.elements.token.value = token;
  return form;
}

function makeForm(places) {
  const field = (text, name, attributes) => element('label', {}, element('span', {}, text), element('input', { name, ...attributes }));
  const said = element('output', { role: 'status' });
  const password = tokenField();
  password.required = true;
  const form = element('form', { class: 'mute' },
    places.length ? element('div', { class: 'faint' }, places.length > 1 ? `${places.length} places: ${places.slice(0, 6).join(', ')}${places.length > 6 ? ', ...' : ''}` : places[0]) : field('link or node', 'place', { required: true, list: 'names', autocomplete: 'off' }),
    field('for', 'for', { required: true, value: '4h', title: '30m, 4h, 2d' }), field('begins in', 'in', { placeholder: 'now', title: 'for planned work: 30m, 4h, 2d' }),
    field('reason', 'reason', { required: true, maxlength: 200 }), field('your name', 'who', { maxlength: 60, autocomplete: 'off', value: localStorage.getItem('who') ?? '' }),
    element('label', {}, element('span', {}, 'token'), password), element('button', {}, 'mute'), said);
  form.addEventListener('input', () => [...form.elements].forEach((input) => input.setCustomValidity?.('')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(form, places, said);
  });
  return form;
}

async function submit(form, given, said) {
  const value = (name) => form.elements[name]?.value.trim() ?? '';
  const times = { minutes: minutesOf(value('for')), in: value('in') ? minutesOf(value('in')) : 0 };
  for (const [name, minutes] of [['for', times.minutes], ['in', times.in]])
    if (!(minutes >= (name === 'for' ? 1 : 0) && minutes <= 129600)) return void (form.elements[name].setCustomValidity('as 30m, 4h or 2d; 90 days at most'), form.reportValidity());
  const who = value('who');
  localStorage.setItem('who', who);
  token = form.elements.token.value;
  for (const place of given.length ? given : [value('place')]) {
    const wish = { place, ...times, reason: value('reason'), ...(who ? { who } : {}) };
    const error = await attempt(said, place, () => form.context.add(wish, token), () => `muted: nobody is alerted of it for ${value('for')}`);
    if (error) return void (error.status === 401 && form.elements.token.select());
  }
  form.elements.reason.value = '';
}
