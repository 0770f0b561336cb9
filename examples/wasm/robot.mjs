// An exported robot in WebAssembly: its functions by name, from arrays of numbers to a Float64Array.

/** `about` is {prefix, functions: {name: {arguments: {q: 7, ...}, shape: [7]}}}, as `armwright export --json` prints it. */
export async function load(bytes, about) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory } = instance.exports;
  const made = {};
  for (const [name, { arguments: given, shape }] of Object.entries(about.functions)) {
    const sizes = Object.values(given);
    const count = shape.reduce((product, size) => product * size, 1);
    const bytesNeeded = 8 * (sizes.reduce((sum, size) => sum + size, 0) + count);
    let at = memory.grow(Math.ceil(bytesNeeded / 65536)) * 65536; // pages that nothing else uses
    const places = [...sizes, count].map((size) => {
      const place = at;
      at += 8 * size;
      return place;
    });
    made[name] = (...arrays) => {
      arrays.forEach((array, k) => {
        if (array.length !== sizes[k]) throw new RangeError(`${name}: got ${array.length} numbers, expected ${sizes[k]}`);
        new Float64Array(memory.buffer, places[k], sizes[k]).set(array);
      });
      instance.exports[`${about.prefix}_${name}`](...places);
      return new Float64Array(memory.buffer, places[sizes.length], count).slice();
    };
  }
  return made;
}
