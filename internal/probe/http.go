// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

const (
	// headerLimit limits what is read of a response: its header, and the part of its body that comes with it.
	headerLimit = 64 << 10
	// maxInformational limits the informational responses (1xx) before the final one.
	maxInformational = 5
)

var errTooLong = errors.New("the header is too long")

// limitedConn limits what is read, and keeps the error of a connection that was cut: http.ReadResponse may return
// one about the incomplete line instead.
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

// readerPool saves 4 KiB for each probe.
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

// checkHTTP sends the request and checks the status. The header is read to its end, since a server that hangs within
// it is not healthy; the body is read where a text is expected in it. The client of net/http would take three times as long, and its
// goroutines, pool and redirects would have to be switched off.
func (c *checker) checkHTTP(plan *checkPlan, conn net.Conn, to dialTarget) outcome {
	host := plan.host
	if host == "" {
		host = hostHeader(to.hostOrIP(), to.Port, plan.isHTTPS())
	}
	request := string(ptr.Deref(plan.HTTPGet.Method, common.MethodGet)) + " " + plan.path + " HTTP/1.1\r\nHost: " + host +
		"\r\nUser-Agent: " + userAgent + "\r\n" + plan.headers + "Connection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return outcomeOf(err, protocolError)
	}
	from := &limitedConn{Conn: conn, left: headerLimit}
	reader := c.readers.get(from)
	defer c.readers.put(reader)
	for range maxInformational + 1 {
		answer, err := http.ReadResponse(reader, nil) //nolint:bodyclose // closing the body would read all of it
		if err != nil {
			return outcomeOf(from.err, protocolError)
		}
		if status := answer.StatusCode; status >= 200 || status == http.StatusSwitchingProtocols {
			if result := plan.statusOutcome(status); result != connected || plan.HTTPGet.ExpectedBody == "" {
				return result
			}
			_, result := readUntil(answer.Body, nil, []byte(plan.HTTPGet.ExpectedBody), true)
			return result
		}
	}
	return protocolError
}

func (plan *checkPlan) statusOutcome(status int) outcome {
	expected := plan.HTTPGet.ExpectedStatuses
	if len(expected) == 0 && status >= 200 && status <= 399 {
		return connected
	}
	for _, span := range expected {
		if status >= int(span.Start) && status <= int(span.End) {
			return connected
		}
	}
	return unexpectedStatus
}

// hostHeader returns the Host header for a server: without the port that its scheme has by default (RFC 9110, section 7.2).
func hostHeader(name string, port uint16, https bool) string {
	if port == 80 && !https || port == 443 && https {
		return bracketed(name)
	}
	return bracketed(name) + ":" + strconv.Itoa(int(port))
}

// isPlain reports whether a text can be in a header without ending it.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// requestTarget returns a path as it can be in a request line: what cannot is encoded.
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
