/* What exported C asks of <math.h>, for a target that has no C library: the compiler brings these along. */
#ifndef EXAMPLE_MATH_H
#define EXAMPLE_MATH_H
double sin(double);
double cos(double);
float sinf(float);
float cosf(float);
#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define copysign __builtin_copysign
#define copysignf __builtin_copysignf
#endif
