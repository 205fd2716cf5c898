package bridge

import (
	"bufio"
	"net"
	"os"
	"sync"
	"time"
)

// readAhead is more than a pipe holds. The HTTP/2 server reads each frame with two calls, head and payload; from
// a buffer they cost nothing.
const readAhead = 256 << 10

// conn is a stream that a bridge handed over. The descriptors stay blocking: going through the runtime's poller
// would add a system call to each read. A read that hangs when the connection is closed ends when the bridge
// has ended and the engine closes its input.
type conn struct {
	// Closing it ends the bridge.
	net.Conn
	in     *os.File
	reader *bufio.Reader
	out    *os.File
	close  func() error
}

var _ net.Conn = (*conn)(nil)

func newConn(bridge net.Conn, in, out *os.File) *conn {
	c := &conn{Conn: bridge, in: in, reader: bufio.NewReaderSize(in, readAhead), out: out}
	c.close = sync.OnceValue(func() error {
		err := c.out.Close()
		c.in.Close()
		c.Conn.Close()
		return err
	})
	return c
}

func (c *conn) Read(bytes []byte) (int, error)  { return c.reader.Read(bytes) }
func (c *conn) Write(bytes []byte) (int, error) { return c.out.Write(bytes) }
func (c *conn) Close() error                    { return c.close() }

// Deadlines belong to connections over a network; here both ends live and die together.
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
