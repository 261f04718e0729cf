// The script of a page that has charts and tables alone.
import { addSaving } from './saving.js';

addSaving();
