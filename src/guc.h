/*
 * guc.h
 *	  The extension's configuration parameters (crc32c_accel.*).
 */
#ifndef ACCEL_GUC_H
#define ACCEL_GUC_H

/*
 * Defines all parameters.  Must be called after checksum_init(), from
 * _PG_init.
 */
extern void accel_define_gucs(void);

#endif							/* ACCEL_GUC_H */
