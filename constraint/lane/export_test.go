package lane

// MostRefusals is for the tests of the package.
const MostRefusals = mostRefusals
