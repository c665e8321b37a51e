// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package databases fails real databases over behind an ExternalService, under a client that writes, and counts the writes
// that fail: PostgreSQL in streaming replication, with an endpoint that responds as Patroni does; MariaDB with a replica, and an
// endpoint that responds as clustercheck does; and Redis with a replica.
//
// It needs the servers of the Debian packages postgresql, redis-server and mariadb-server. It plays them on loopback addresses
// of Linux.
//
// A ring of its own, `make test-databases`: it takes these programs, and it measures times of up to half a minute.
package databases
