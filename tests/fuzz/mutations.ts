import type { SeededRandom } from "../faults/seeded_random.ts";

/** Bytes with something wrong: bits flipped, cut, repeated, lengthened, numbers at their bounds. */
export function mutatedBytes(bytes: Bytes, random: SeededRandom): Bytes {
  let mutated = bytes.slice();
  const times = random.pick([1, 1, 1, 2, 4, 16]);
  for (let time = 0; time < times; time++) {
    mutated = random.pick(random.next() < 0.6 ? [flippedBit] : BYTE_MUTATIONS)(mutated, random);
  }
  return mutated;
}

type Bytes = Uint8Array<ArrayBuffer>;
type ByteMutation = (bytes: Bytes, random: SeededRandom) => Bytes;

const place = (bytes: Bytes, random: SeededRandom) => Math.floor(random.next() * bytes.length);

/** The mutation after which the bytes most often still parse, and so pass most checks. */
const flippedBit: ByteMutation = (bytes, random) => {
  const at = place(bytes, random);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random.next() * 8));
  return bytes;
};

const BYTE_MUTATIONS: ByteMutation[] = [
  (bytes, random) => {
    bytes[place(bytes, random)] = random.pick([0, 1, 0x7f, 0x80, 0xff]);
    return bytes;
  },
  // XDR writes lengths and kinds as words of four bytes.
  (bytes, random) => {
    const at = place(bytes, random) & ~3;
    const word = random.pick([[0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff], [0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 1]]);
    bytes.set(word.slice(0, bytes.length - at), at);
    return bytes;
  },
  (bytes, random) => bytes.slice(0, place(bytes, random)),
  (bytes, random) => joined(bytes, bytes.slice(place(bytes, random))),
  (bytes, random) => {
    const [from, to] = [place(bytes, random), place(bytes, random)].sort((a, b) => a - b);
    return joined(bytes.slice(0, from), bytes.slice(to!));
  },
  (bytes, random) => joined(bytes, new Uint8Array(random.pick([1, 4, 5_000]))),
];

function joined(a: Bytes, b: Bytes): Bytes {
  const whole = new Uint8Array(Math.min(a.length + b.length, 40_000));
  whole.set(a);
  whole.set(b.slice(0, whole.length - a.length), a.length);
  return whole;
}

/** JSON with something wrong in it: another value, kind, or size at one or several places. */
export function mutatedJson(value: unknown, random: SeededRandom): unknown {
  const copy = structuredClone(value);
  const times = random.pick([1, 1, 2, 5]);
  let whole: unknown = copy;
  for (let time = 0; time < times; time++) {
    const places = placesIn(whole);
    if (places.length === 0) return random.pick(JSON_VALUES);
    const { parent, key } = random.pick(places);
    const holder = parent as Record<string, unknown>;
    whole = mutatePlace(holder, key, random) ? whole : random.pick(JSON_VALUES);
  }
  return whole;
}

const JSON_VALUES: readonly unknown[] = [
  null,
  true,
  "",
  "AAAA",
  "!",
  "\u0000",
  "-1",
  "99999999999999999999999",
  0,
  1,
  -1,
  1.5,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 53,
  1e300,
  [],
  {},
  "x".repeat(100_000),
];

function placesIn(value: unknown): { parent: object; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [
    { parent: value, key },
    ...placesIn((value as Record<string, unknown>)[key]),
  ]);
}

/** Mutates one place. Returns false if the caller must replace the whole value. */
function mutatePlace(holder: Record<string, unknown>, key: string, random: SeededRandom): boolean {
  const was = holder[key];
  const how = random.next();
  if (how < 0.02) return false;
  if (how < 0.2) delete holder[key];
  else if (how < 0.4 && Array.isArray(was)) holder[key] = [...was, ...was, ...was].slice(0, 5_000);
  else if (how < 0.5 && Array.isArray(was)) holder[key] = was.toReversed();
  else if (how < 0.7 && typeof was === "number") holder[key] = was + random.pick([-1, 1, 1_000, -1_000, 1e9, 0.5]);
  else if (how < 0.7 && typeof was === "string") holder[key] = mutatedText(was, random);
  else holder[key] = random.pick(JSON_VALUES);
  return true;
}

function mutatedText(text: string, random: SeededRandom): string {
  const at = Math.floor(random.next() * text.length);
  return random.pick([
    text.slice(0, at),
    text + text,
    `${text.slice(0, at)}A${text.slice(at + 1)}`,
    `${text.slice(0, at)}\ud800${text.slice(at)}`,
    text.toLowerCase(),
    [...text].reverse().join(""),
  ]);
}
