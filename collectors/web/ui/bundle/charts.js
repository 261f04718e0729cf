// What the page uses of Apache ECharts, as one file (charts.js), which it loads with its first chart.
import { LineChart } from 'echarts/charts';
import { DataZoomSliderComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

use([CanvasRenderer, DataZoomSliderComponent, GridComponent, LegendComponent, LineChart, MarkAreaComponent, MarkLineComponent, TooltipComponent]);

export { init };
