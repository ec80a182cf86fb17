import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

const here = fileURLToPath(new URL(".", import.meta.url));

// One page a build (--mode report or --mode viewer): a single file can only hold what one entry needs.
export default defineConfig(({ mode }) => ({
  root: here,
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  resolve: { alias: { "@": `${here}src` } },
  server: { fs: { allow: ["../.."] } },
  build: {
    target: "es2021",
    outDir: process.env["KVSWEEP_WEB_OUT"] ?? "dist",
    emptyOutDir: false,
    chunkSizeWarningLimit: 4096,
    reportCompressedSize: false,
    rollupOptions: { input: `${here}${mode === "viewer" ? "viewer" : "report"}.html` },
  },
  test: {
    globals: true,
    environment: "node",
    dir: `${here}../../tests/web/unit`,
    include: ["**/*.test.ts"],
    cache: false as const,
  },
}));
