import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, AxisPointerComponent, DataZoomComponent, GraphicComponent, GridComponent, LegendComponent, MarkLineComponent, TitleComponent,
  ToolboxComponent, TooltipComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer } from "echarts/renderers";

import { cssVar, onThemeChange, pageFont, palette } from "@/shared/theme";

echarts.use([
  BarChart, CustomChart, LineChart, ScatterChart, AriaComponent, AxisPointerComponent, DataZoomComponent, GraphicComponent, GridComponent,
  LegendComponent, MarkLineComponent, TitleComponent, ToolboxComponent, TooltipComponent, LabelLayout, CanvasRenderer,
]);

export type Option = EChartsCoreOption;
export { echarts };

/** A chart that follows its element's size and the theme. */
export interface Chart {
  readonly echart: EChartsType;
  /** Redraws what `option` returns; call it when the data have changed. */
  refresh(): void;
  dispose(): void;
}

/** Colors, fonts and lines of the theme; an option's own settings win over these. */
function themed(): Option {
  const text = { color: cssVar("--muted"), fontFamily: pageFont() };
  const axis = {
    axisLine: { lineStyle: { color: cssVar("--edge") } },
    axisTick: { lineStyle: { color: cssVar("--edge") } },
    axisLabel: { color: cssVar("--muted") },
    nameTextStyle: { color: cssVar("--muted") },
    splitLine: { lineStyle: { color: cssVar("--grid") } },
    minorSplitLine: { lineStyle: { color: cssVar("--grid"), opacity: 0.6 } },
  };
  return {
    color: palette(),
    textStyle: text,
    title: { textStyle: { color: cssVar("--text") } },
    legend: { textStyle: { color: cssVar("--text") }, inactiveColor: cssVar("--edge") },
    toolbox: { iconStyle: { borderColor: cssVar("--muted") }, emphasis: { iconStyle: { borderColor: cssVar("--accent") } } },
    tooltip: {
      backgroundColor: cssVar("--card"),
      borderColor: cssVar("--line"),
      textStyle: { color: cssVar("--text") },
      confine: true,
    },
    categoryAxis: axis,
    valueAxis: axis,
    logAxis: axis,
    timeAxis: axis,
  };
}

/**
 * Draws `option()` in `element`, and again whenever the theme changes, since its colors come from
 * there. Names in tooltips must be escaped (escapeHtml), since a tooltip's text is HTML.
 */
export function createChart(element: HTMLElement, option: () => Option): Chart {
  const echart = echarts.init(element, themed());
  const draw = () => echart.setOption({ animation: false, ...option() }, { notMerge: true });
  const observer = new ResizeObserver(() => {
    if (echart.getWidth() !== element.clientWidth || echart.getHeight() !== element.clientHeight) echart.resize();
  });
  observer.observe(element);
  draw();
  onThemeChange(() => {
    if (echart.isDisposed()) return;
    echart.setTheme(themed());
    draw();
  });
  return {
    echart,
    refresh: draw,
    dispose() {
      observer.disconnect();
      echart.dispose();
    },
  };
}
