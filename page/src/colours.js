// Colours: of heat, which differs in lightness so that everybody sees it, and of registers.
import { scaleSequential } from 'd3-scale';
import { interpolateYlOrRd, interpolateSinebow } from 'd3-scale-chromatic';

const heat = scaleSequential(interpolateYlOrRd).domain([-0.15, 1.6]);

export const heatColour = (share) => heat(share);

/** A colour for the register of this number. Neighbours are far apart. */
export const registerColour = (number) => interpolateSinebow((number * 0.381966) % 1);
