// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// mariaDB is a server with MariaDB, and an endpoint that responds as clustercheck does: 200 if the server takes writes.
type mariaDB struct {
	host
	checker
	id     int // of the server, in its replication
	server *process
}

var _ switcher = (*mariaDB)(nil)

// newMariaDB starts a server without data.
func (s *suite) newMariaDB(id int) *mariaDB {
	m := &mariaDB{host: s.newHost(), id: id}
	m.install()
	m.serve(&m.host, 9200, map[string]bool{"/": false}, m.isReadOnly)
	return m
}

// newMariaDBPair starts a primary and a replica.
func (s *suite) newMariaDBPair() (primary, replica member) {
	a, b := s.newMariaDB(1), s.newMariaDB(2)
	a.administer(`CREATE DATABASE shop`, `CREATE TABLE shop.orders (id bigint PRIMARY KEY)`,
		`CREATE USER client@'%' IDENTIFIED BY '`+password+`'`, `GRANT SELECT, INSERT ON shop.* TO client@'%'`,
		`CREATE USER replica@'%' IDENTIFIED BY '`+password+`'`, `GRANT REPLICATION SLAVE ON *.* TO replica@'%'`)
	b.follow(a)
	return a, b
}

func (m *mariaDB) at() string { return m.address }

func (m *mariaDB) data() string { return filepath.Join(m.folder, "data") }

// install starts the server without data.
func (m *mariaDB) install(args ...string) {
	m.Helper()
	m.Must(os.RemoveAll(m.data()))
	m.run("mariadb-install-db", "--no-defaults", "--datadir="+m.data(), "--auth-root-authentication-method=normal", "--skip-test-db",
		"--skip-name-resolve", "--innodb-log-file-size=8M")
	m.start(args...)
}

// start returns once the server answers.
func (m *mariaDB) start(args ...string) {
	m.Helper()
	m.server = m.launch(syscall.SIGKILL, "mariadbd", append([]string{"--no-defaults", "--datadir=" + m.data(), "--socket=" + m.socket(),
		"--pid-file=" + filepath.Join(m.folder, "pid"), "--bind-address=" + m.local, "--server-id=" + strconv.Itoa(m.id),
		"--log-bin=binlog", "--log-slave-updates", "--skip-name-resolve", "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M",
		"--innodb-flush-log-at-trx-commit=2"}, args...)...)
	m.Eventually(func() error {
		m.Must(m.server.failure())
		return m.reachable(m.Context())
	})
}

func (m *mariaDB) socket() string { return filepath.Join(m.folder, "socket") }

// fail stops the server at once.
func (m *mariaDB) fail() { m.server.stop(syscall.SIGKILL) }

func (m *mariaDB) promote() {
	m.Helper()
	m.administer(`STOP SLAVE`, `RESET SLAVE ALL`, `SET GLOBAL read_only = 0`)
}

// takeOver makes this replica the primary, and the primary a replica. Both go on accepting connections, and keep those that they
// have.
func (m *mariaDB) takeOver(from member) {
	m.Helper()
	primary := from.(*mariaDB)
	primary.administer(`SET GLOBAL read_only = 1`)
	m.catchUp(primary)
	m.promote()
	primary.administer(`SET GLOBAL gtid_slave_pos = '` + primary.position() + `'`)
	primary.follow(m)
}

// returnAsReplica makes the server a replica that accepts connections. Writes that the other one lacks are gone.
func (m *mariaDB) returnAsReplica(of member) {
	m.Helper()
	m.id += 2 // a replica skips what has its own id, and so what the server wrote before
	m.install("--read-only")
	m.follow(of.(*mariaDB))
}

// returnAsPrimary starts the server with the data that it had.
func (m *mariaDB) returnAsPrimary() { m.start() }

// follow returns once the server has what its primary has.
func (m *mariaDB) follow(primary *mariaDB) {
	m.Helper()
	m.administer(`SET GLOBAL read_only = 1`, fmt.Sprintf(`CHANGE MASTER TO master_host = '%s', master_user = 'replica', master_password = '%s',
		master_use_gtid = slave_pos, master_connect_retry = 1`, primary.local, password), `START SLAVE`)
	m.catchUp(primary)
}

func (m *mariaDB) catchUp(with *mariaDB) {
	m.Helper()
	position := with.position()
	m.Eventually(func() error {
		var late int
		err := m.ask(m.Context(), &late, `SELECT MASTER_GTID_WAIT(?, 1)`, position)
		if err == nil && late != 0 {
			err = fmt.Errorf("the replica does not have %s yet", position)
		}
		return err
	})
}

// position is that of the last write that the server has.
func (m *mariaDB) position() (gtids string) {
	m.Helper()
	m.Must(m.ask(m.Context(), &gtids, `SELECT @@global.gtid_binlog_pos`))
	return gtids
}

func (m *mariaDB) isReadOnly(ctx context.Context) (is bool, err error) {
	err = m.ask(ctx, &is, `SELECT @@global.read_only`)
	return is, err
}

func (m *mariaDB) reachable(ctx context.Context) error {
	var one int
	return m.ask(ctx, &one, `SELECT 1`)
}

// administer does what only an administrator may.
func (m *mariaDB) administer(statements ...string) {
	m.Helper()
	db := m.asRoot()
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(m.Context(), statement); err != nil {
			m.Fatalf("%s: %v", statement, err)
		}
	}
}

// ask reads the first column of the first row, as an administrator.
func (m *mariaDB) ask(ctx context.Context, value any, query string, args ...any) error {
	db := m.asRoot()
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(ctx, query, args...).Scan(value)
}

// asRoot returns a pool that connects when it is used.
func (m *mariaDB) asRoot() *sql.DB {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "unix", m.socket()
	return m.open(config)
}

// asClient is asRoot for a client outside.
func (m *mariaDB) asClient() *sql.DB {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = "client", password, "shop"
	config.Net, config.Addr, config.DialFunc = "tcp", net.JoinHostPort(m.address, "3306"), dial
	return m.open(config)
}

func (m *mariaDB) open(config *mysql.Config) *sql.DB {
	connector, err := mysql.NewConnector(config)
	m.Must(err)
	return sql.OpenDB(connector)
}

// stored returns how many of the writes from first on it has.
func (m *mariaDB) stored(first int64) (n int64) {
	m.Helper()
	m.Must(m.ask(m.Context(), &n, `SELECT count(*) FROM shop.orders WHERE id >= ?`, first))
	return n
}

// session returns a connection of a client that writes.
func (m *mariaDB) session(ctx context.Context) (session, error) {
	db := m.asClient()
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return session{}, err
	}
	return session{
		write: func(ctx context.Context, id int64) error {
			_, err := conn.ExecContext(ctx, `INSERT INTO orders (id) VALUES (?)`, id)
			return err
		},
		close: func() {
			_ = conn.Close()
			_ = db.Close()
		},
	}, nil
}
