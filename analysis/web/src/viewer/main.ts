import "@/shared/theme.css";
import { pageData } from "@/shared/columns";
import { h, replace } from "@/shared/dom";
import { startTheme, themeToggle } from "@/shared/theme";

startTheme();
const app = document.getElementById("app") as HTMLElement;
const data = pageData<{ title?: string }>();
replace(app, h("header", {}, h("h1", {}, data?.title ?? "kvsweep viewer"), themeToggle()));
