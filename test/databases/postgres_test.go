// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// postgres is a server with PostgreSQL, and an endpoint that responds as Patroni does.
type postgres struct {
	host
	checker
	data   string
	server *process
}

var _ member = (*postgres)(nil)

// newPostgres returns a server that has no data yet and does not run.
func (s *suite) newPostgres() *postgres {
	p := &postgres{host: s.newHost()}
	p.data = filepath.Join(p.folder, "data")
	// The paths of the REST API of Patroni.
	p.serve(&p.host, 8008, map[string]bool{"/primary": false, "/replica": true}, func(ctx context.Context) (bool, error) {
		recovers, err := p.query(ctx, `SELECT pg_is_in_recovery()`)
		return recovers == true, err
	})
	return p
}

// newPostgresPair starts a primary and a standby.
func (s *suite) newPostgresPair() (primary, standby member) {
	a, b := s.newPostgres(), s.newPostgres()
	a.run("initdb", "--pgdata="+a.data, "--username=postgres", "--auth=trust", "--no-sync")
	rules, err := os.OpenFile(filepath.Join(a.data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	s.Must(err)
	_, err = rules.WriteString("host all,replication all 127.0.0.0/8 trust\n")
	s.Must(err)
	s.Must(rules.Close())
	a.start()
	_, err = a.query(s.Context(), `CREATE TABLE orders (id bigint PRIMARY KEY)`)
	s.Must(err)
	b.returnAsReplica(a)
	return a, b
}

func (p *postgres) at() string { return p.address }

// start returns once the server answers. A standby that waits to connect to its primary again has been promoted as late as
// wal_retrieve_retry_interval, which is 5s by default.
func (p *postgres) start() {
	p.Helper()
	p.server = p.launch(syscall.SIGQUIT, "postgres", "-D", p.data, "-c", "listen_addresses="+p.local, "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "wal_retrieve_retry_interval=100ms")
	p.Eventually(func() error {
		p.Must(p.server.failure())
		_, err := p.query(p.Context(), `SELECT 1`)
		return err
	})
}

// fail stops the server at once: it ends no session and writes no checkpoint.
func (p *postgres) fail() { p.server.stop(syscall.SIGQUIT) }

// promote returns once this standby accepts writes.
func (p *postgres) promote() {
	p.Helper()
	p.run("pg_ctl", "promote", "--pgdata="+p.data, "--wait")
}

// returnAsReplica makes the server a standby that accepts connections.
func (p *postgres) returnAsReplica(of member) {
	p.Helper()
	primary := of.(*postgres)
	p.Must(os.RemoveAll(p.data))
	p.run("pg_basebackup", "--host="+primary.local, "--username=postgres", "--pgdata="+p.data, "--write-recovery-conf", "--checkpoint=fast",
		"--no-sync")
	p.start()
}

// returnAsPrimary starts the server with the data that it had.
func (p *postgres) returnAsPrimary() { p.start() }

func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s user=postgres dbname=postgres sslmode=disable", p.address))
	if err != nil {
		return nil, err
	}
	config.DialFunc = dial
	return pgx.ConnectConfig(ctx, config)
}

// dial connects to an address outside.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return externalnet.Dial(ctx, network, to)
}

// query returns the first column of the first row, or nil.
func (p *postgres) query(ctx context.Context, sql string, args ...any) (any, error) {
	conn, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var value any
	if rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		value = values[0]
	}
	rows.Close()
	return value, rows.Err()
}

// stored returns how many of the writes from first on it has.
func (p *postgres) stored(first int64) int64 {
	p.Helper()
	n, err := p.query(p.Context(), `SELECT count(*) FROM orders WHERE id >= $1`, first)
	p.Must(err)
	return n.(int64)
}

// session returns a connection of a client that writes.
func (p *postgres) session(ctx context.Context) (session, error) {
	conn, err := p.connect(ctx)
	if err != nil {
		return session{}, err
	}
	return session{
		write: func(ctx context.Context, id int64) error {
			_, err := conn.Exec(ctx, `INSERT INTO orders (id) VALUES ($1)`, id)
			return err
		},
		close: func() { _ = conn.Close(context.WithoutCancel(ctx)) },
	}, nil
}
