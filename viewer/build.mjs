// Bundles the viewer into dist/viewer.js: one script without imports, as a page holds it.
import { build } from "esbuild";
import { readFileSync } from "node:fs";

await build({
  entryPoints: ["src/main.js"],
  outfile: "dist/viewer.js",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"], // DecompressionStream
  loader: { ".css": "text" },
  legalComments: "inline",
  logLevel: "warning",
});
const text = readFileSync("dist/viewer.js", "utf8");
if (/<\/script/i.test(text)) throw new Error("the bundle would end the element it stands in");
console.log(`viewer/dist/viewer.js: ${(text.length / 1024).toFixed(0)} KB`);
