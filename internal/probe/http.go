// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

const (
	// headerLimit is how much of an answer is read at most: its header, and what of its body came
	// along with that.
	headerLimit = 64 << 10
	// maxInformational responses (1xx) that are skipped before the real one.
	maxInformational = 5
)

var errTooLong = errors.New("the header is too long")

// limitedConn reads so much and no more, and keeps the error of a connection that was cut, which
// http.ReadResponse may hide behind what it thinks of the line that was cut.
type limitedConn struct {
	net.Conn

	left int
	err  error
}

func (l *limitedConn) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.Conn.Read(b[:min(len(b), l.left)])
	l.left -= n
	l.err = err
	return n, err
}

// readerPool saves each probe 4 KiB.
type readerPool struct{ pool sync.Pool }

func (r *readerPool) get(from io.Reader) *bufio.Reader {
	if reader, ok := r.pool.Get().(*bufio.Reader); ok {
		reader.Reset(from)
		return reader
	}
	return bufio.NewReader(from)
}

func (r *readerPool) put(reader *bufio.Reader) {
	reader.Reset(nil)
	r.pool.Put(reader)
}

// checkHTTP asks and judges the status. The header is read to its end, since a server that hangs within it
// is not well; the body is not read at all. net/http's client would do the same with goroutines,
// pools and redirects to be switched off, for three times the time.
func (a *checker) checkHTTP(q *checkPlan, conn net.Conn, at dialTarget) outcome {
	host := q.HTTP.Host
	if host == "" {
		host = bracketed(at.hostOrIP())
	}
	request := "GET " + q.path + " HTTP/1.1\r\nHost: " + host +
		"\r\nUser-Agent: " + userAgent + "\r\n" + q.headers + "Connection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return outcomeOf(err, protocolError)
	}
	from := &limitedConn{Conn: conn, left: headerLimit}
	reader := a.readers.get(from)
	defer a.readers.put(reader)
	for range maxInformational + 1 {
		answer, err := http.ReadResponse(reader, nil) //nolint:bodyclose // closing the body would read it
		if err != nil {
			return outcomeOf(from.err, protocolError)
		}
		if status := answer.StatusCode; status >= 200 || status == http.StatusSwitchingProtocols {
			return q.statusOutcome(status)
		}
	}
	return protocolError
}

func (q *checkPlan) statusOutcome(status int) outcome {
	if len(q.HTTP.Statuses) == 0 && status >= 200 && status <= 399 {
		return connected
	}
	for _, span := range q.HTTP.Statuses {
		if status >= span[0] && status <= span[1] {
			return connected
		}
	}
	return unexpectedStatus
}

// isPlain says that a text can stand in a header without ending it.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// requestTarget is a path that can stand in a request line: what cannot is encoded.
func requestTarget(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if isPlain(path) && !strings.Contains(path, "#") {
		return path
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || c == '#' {
			b.WriteString("%" + string(digits[c>>4]) + string(digits[c&15]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
