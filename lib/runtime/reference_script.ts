/** The script of the API reference as gzip made it, from the source tree or from inside the executable. */
export async function readReferenceScript(): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof Bun === "undefined") {
    return await Deno.readFile(new URL("../http/pages/reference/scalar.js.gz", import.meta.url));
  }
  // Bun embeds what is imported as a file into the executable, and answers the path to read it from.
  const { default: path } = await import("../http/pages/reference/scalar.js.gz", { with: { type: "file" } });
  return await Bun.file(path).bytes();
}
