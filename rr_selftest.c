#include "rr.h"

#include <math.h>
#include <stdio.h>

static int differs(const char *name, const double *got, const double *expected, int n,
                   double tolerance)
{
    double scale = 0, error = 0;
    int i;
    for (i = 0; i < n; ++i) {
        const double size = fabs(expected[i]), gap = fabs(got[i] - expected[i]);
        if (size > scale) scale = size;
        if (gap > error || gap != gap) error = gap;
        if (error != error) break;
    }
    if (error <= tolerance * scale) return 0;
    printf("%s differs by %g of %g\n", name, (double)error, (double)scale);
    return 1;
}

int main(void)
{
    int failures = 0;
    {
        const double q[2] = {0.2739233746429086, -0.4604265724722594};
        const double qd[2] = {-0.9180529521276106, -0.9669447289429418};
        const double qdd[2] = {0.6265404784005448, 0.8255111545554434};
        const double expected[2] = {137.9442361096842, 55.767140857859154};
        double out[2];
        rr_inverse_dynamics(q, qd, qdd, out);
        failures += differs("inverse_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.21327155153435973, 0.4589931219679968};
        const double qd[2] = {0.08724998293084574, 0.8701448475755365};
        const double qdd[2] = {0.6317071082430643, -0.9945229996597038};
        const double expected[2] = {105.73077438771992, 38.78007475587888};
        double out[2];
        rr_inverse_dynamics(q, qd, qdd, out);
        failures += differs("inverse_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.7148085531751387, -0.9328288493890713};
        const double qd[2] = {0.45931089285988813, -0.648688758794882};
        const double qdd[2] = {0.7263578446997732, 0.08292244049818343};
        const double expected[2] = {110.6335059205239, 52.52451811423984};
        double out[2];
        rr_inverse_dynamics(q, qd, qdd, out);
        failures += differs("inverse_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.2739233746429086, -0.4604265724722594};
        const double qd[2] = {-0.9180529521276106, -0.9669447289429418};
        const double tau[2] = {0.6265404784005448, 0.8255111545554434};
        const double expected[2] = {-6.348511071745534, 1.6659173396383304};
        double out[2];
        rr_forward_dynamics(q, qd, tau, out);
        failures += differs("forward_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.21327155153435973, 0.4589931219679968};
        const double qd[2] = {0.08724998293084574, 0.8701448475755365};
        const double tau[2] = {0.6317071082430643, -0.9945229996597038};
        const double expected[2] = {-5.316877753021203, 1.1423259844919116};
        double out[2];
        rr_forward_dynamics(q, qd, tau, out);
        failures += differs("forward_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.7148085531751387, -0.9328288493890713};
        const double qd[2] = {0.45931089285988813, -0.648688758794882};
        const double tau[2] = {0.7263578446997732, 0.08292244049818343};
        const double expected[2] = {-3.882475078464707, -3.973475701831678};
        double out[2];
        rr_forward_dynamics(q, qd, tau, out);
        failures += differs("forward_dynamics", out, expected, 2, 1e-10);
    }
    {
        const double q[2] = {0.2739233746429086, -0.4604265724722594};
        const double expected[4] = {20.708630399650453, 8.479315199825226, 8.479315199825226, 5.000000000000001};
        double out[4];
        rr_mass_matrix(q, out);
        failures += differs("mass_matrix", out, expected, 4, 1e-10);
    }
    {
        const double q[2] = {-0.9180529521276106, -0.9669447289429418};
        const double expected[4] = {17.42817138241336, 6.839085691206681, 6.839085691206681, 5.000000000000001};
        double out[4];
        rr_mass_matrix(q, out);
        failures += differs("mass_matrix", out, expected, 4, 1e-10);
    }
    {
        const double q[2] = {0.6265404784005448, 0.8255111545554434};
        const double expected[4] = {18.531814095487704, 7.390907047743852, 7.390907047743852, 5.000000000000001};
        double out[4];
        rr_mass_matrix(q, out);
        failures += differs("mass_matrix", out, expected, 4, 1e-10);
    }
    if (!failures) printf("all as expected\n");
    return failures != 0;
}
