#include "rr.h"

#include <math.h>

/* Sine and cosine of n angles. Each is reduced by whole quarter turns, with pi/2 in parts whose
   products are exact, and two polynomials give those of the rest; there is no branch, so that the compiler can
   use vector instructions. Angles beyond 1e+06 are left to the C library. */
static void sines(const double *angle, double *sine, double *cosine, int n)
{
    int i, large = 0;
    for (i = 0; i < n; ++i)
        large |= !(fabs(angle[i]) <= 1000000.0);
    if (large) {
        for (i = 0; i < n; ++i) {
            sine[i] = sin(angle[i]);
            cosine[i] = cos(angle[i]);
        }
        return;
    }
    for (i = 0; i < n; ++i) {
        const double x = angle[i];
        const int quarters = (int)(x * 0.6366197723675814 + copysign(0.5, x));
        const double k = (double)quarters;
        const double r = ((((x - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487111665e-21) - k * 8.4784276603689e-32);
        const double z = r * r;
        const double s = r + r * z * (((((1.58969099521155e-10 * z + (-2.5050760253406863e-08)) * z + 2.7557313707070068e-06) * z + (-0.0001984126982985795)) * z + 0.00833333333332249) * z + (-0.16666666666666632));
        const double c = 1.0 - 0.5 * z + z * z * ((((((-1.1359647557788195e-11) * z + 2.087572321298175e-09) * z + (-2.7557314351390663e-07)) * z + 2.480158728947673e-05) * z + (-0.001388888888887411)) * z + 0.0416666666666666);
        const double a = quarters & 1 ? c : s, b = quarters & 1 ? s : c;
        sine[i] = a * (double)(1 - (quarters & 2));
        cosine[i] = b * (double)(1 - ((quarters + 1) & 2));
    }
}

void rr_inverse_dynamics(const double q[2], const double qd[2], const double qdd[2], double out[2])
{
    const double x1[4] = {q[0], q[1], 0, 0};
    double s1[4], c1[4];
    sines(x1, s1, c1, 4);
    const double t1 = 9.81 * s1[0];
    const double t2 = 9.81 * c1[0];
    const double t3 = qd[0] * qd[0];
    const double t4 = 6.75 * qdd[0];
    const double t5 = 66.2175 * c1[0];
    const double t6 = t4 + t5;
    const double t7 = t1 - t3;
    const double t8 = qdd[0] + t2;
    const double t9 = c1[1] * t8;
    const double t10 = s1[1] * t7;
    const double t11 = t9 - t10;
    const double t12 = qdd[0] + qdd[1];
    const double t13 = qd[0] + qd[1];
    const double t14 = t13 * t13;
    const double t15 = 5.0 * t14;
    const double t16 = 5.0 * t12;
    const double t17 = 4.000000000000001 * t12;
    const double t18 = 5.0 * t11;
    const double t19 = t17 + t18;
    const double t20 = s1[1] * t15;
    const double t21 = c1[1] * t16;
    const double t22 = t20 - t21;
    const double t23 = t19 - t22;
    const double t24 = t6 + t23;
    const double t25 = qdd[0] + t24;
    const double t26 = qdd[1] + t19;
    out[0] = t25;
    out[1] = t26;
}

void rr_forward_dynamics(const double q[2], const double qd[2], const double tau[2], double out[2])
{
    const double x1[4] = {q[0], q[1], 0, 0};
    double s1[4], c1[4];
    sines(x1, s1, c1, 4);
    const double t1 = 9.81 * s1[0];
    const double t2 = 9.81 * c1[0];
    const double t3 = qd[0] * qd[0];
    const double t4 = 66.2175 * c1[0];
    const double t5 = t1 - t3;
    const double t6 = t2 * c1[1];
    const double t7 = s1[1] * t5;
    const double t8 = t6 - t7;
    const double t9 = qd[0] + qd[1];
    const double t10 = t9 * t9;
    const double t11 = 5.0 * t10;
    const double t12 = 5.0 * t8;
    const double t13 = s1[1] * t11;
    const double t14 = t12 - t13;
    const double t15 = t4 + t14;
    const double t16 = tau[0] - t15;
    const double t17 = tau[1] - t12;
    const double t18 = 5.0 * c1[1];
    const double t19 = 10.0 * c1[1];
    const double t20 = 4.000000000000001 + t18;
    const double t21 = 11.75 + t19;
    const double t22 = 1.0 / t21;
    const double t23 = t20 * t22;
    const double t24 = t20 * t23;
    const double t25 = t24 - 5.000000000000001;
    const double t26 = 1.0 / t25;
    const double t27 = t16 * t23;
    const double t28 = t17 - t27;
    const double t29 = t26 * t28;
    const double t30 = -t29;
    const double t31 = t16 * t22;
    const double t32 = t23 * t29;
    const double t33 = t31 + t32;
    out[0] = t33;
    out[1] = t30;
}

void rr_mass_matrix(const double q[2], double out[4])
{
    const double x1[4] = {q[1], 0, 0, 0};
    double s1[4], c1[4];
    sines(x1, s1, c1, 4);
    const double t1 = 5.0 * c1[0];
    const double t2 = 10.0 * c1[0];
    const double t3 = 4.000000000000001 + t1;
    const double t4 = 11.75 + t2;
    out[0] = t4;
    out[1] = t3;
    out[2] = t3;
    out[3] = 5.000000000000001;
}
