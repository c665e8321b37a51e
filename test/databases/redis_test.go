// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// password is that of the servers with Redis and MariaDB.
const password = "correct-horse"

// redisServer is a server with Redis.
type redisServer struct {
	host
	server *process
}

var _ switcher = (*redisServer)(nil)

// newRedisPair starts a master and a replica.
func (s *suite) newRedisPair() (master, replica member) {
	a, b := &redisServer{host: s.newHost()}, &redisServer{host: s.newHost()}
	a.start()
	b.start("--replicaof", a.local+" 6379")
	b.follows()
	return a, b
}

func (r *redisServer) at() string { return r.address }

// start returns once the server answers.
func (r *redisServer) start(args ...string) {
	r.Helper()
	r.server = r.launch(syscall.SIGKILL, "redis-server", append([]string{"--bind", r.local, "--port", "6379", "--requirepass", password,
		"--masterauth", password, "--save", "", "--appendonly", "no", "--dir", r.folder, "--repl-diskless-sync-delay", "0"}, args...)...)
	r.Eventually(func() error {
		r.Must(r.server.failure())
		return r.do(r.Context(), "PING").Err()
	})
}

// fail stops the server at once.
func (r *redisServer) fail() { r.server.stop(syscall.SIGKILL) }

// takeOver makes this replica the master, and the master a replica, which goes on accepting connections.
func (r *redisServer) takeOver(from member) {
	r.Helper()
	r.promote()
	from.returnAsReplica(r)
}

func (r *redisServer) promote() {
	r.Helper()
	r.Must(r.do(r.Context(), "REPLICAOF", "NO", "ONE").Err())
}

// returnAsReplica makes the server a replica that accepts connections.
func (r *redisServer) returnAsReplica(of member) {
	r.Helper()
	r.Must(r.do(r.Context(), "REPLICAOF", of.(*redisServer).local, "6379").Err())
}

// follows waits until the replica has what its master has.
func (r *redisServer) follows() {
	r.Helper()
	r.Eventually(func() error {
		info, err := r.do(r.Context(), "INFO", "replication").Text()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("the replica does not follow: %s", info)
		}
		return err
	})
}

// returnAsPrimary starts the server as its arguments say: Redis keeps no role of its own.
func (r *redisServer) returnAsPrimary() { r.start() }

// checked counts the checks that the server answered: no one else asks for its role.
func (r *redisServer) checked() int64 {
	r.Helper()
	info, err := r.do(r.Context(), "INFO", "commandstats").Text()
	r.Must(err)
	_, after, _ := strings.Cut(info, "cmdstat_role:calls=")
	calls, _, _ := strings.Cut(after, ",")
	n, err := strconv.ParseInt(calls, 10, 64)
	if err != nil {
		return 0 // it lists a command once it was called
	}
	return n
}

func (r *redisServer) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: r.address + ":6379", Password: password, Dialer: dial, PoolSize: 1,
		MaxRetries: -1, DialerRetries: 1, Protocol: 2, DisableIdentity: true,
	})
}

func (r *redisServer) do(ctx context.Context, args ...any) *redis.Cmd {
	client := r.client()
	defer func() { _ = client.Close() }()
	return client.Do(ctx, args...)
}

// stored returns how many of the writes from first on it has.
func (r *redisServer) stored(first int64) (n int64) {
	r.Helper()
	ids, err := r.do(r.Context(), "SMEMBERS", "orders").StringSlice()
	r.Must(err)
	for _, id := range ids {
		parsed, err := strconv.ParseInt(id, 10, 64)
		r.Must(err)
		if parsed >= first {
			n++
		}
	}
	return n
}

// session returns a connection of a client that writes.
func (r *redisServer) session(context.Context) (session, error) {
	client := r.client()
	return session{
		write: func(ctx context.Context, id int64) error { return client.SAdd(ctx, "orders", id).Err() },
		close: func() { _ = client.Close() },
	}, nil
}
