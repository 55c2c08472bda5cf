import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** An HTTP server on Netty, as its examples start one. */
public final class IdleNetty {
    static final class Page extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            var text = Unpooled.copiedBuffer("page", StandardCharsets.UTF_8);
            var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, text);
            context.writeAndFlush(answer).addListener(ChannelFutureListener.CLOSE);
        }
    }

    static final class Pipeline extends ChannelInitializer<SocketChannel> {
        @Override
        protected void initChannel(SocketChannel channel) {
            channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(1 << 16), new Page());
        }
    }

    public static void main(String[] words) throws Exception {
        var accepting = new NioEventLoopGroup(1);
        var working = new NioEventLoopGroup();
        var bootstrap = new ServerBootstrap().group(accepting, working);
        bootstrap.channel(NioServerSocketChannel.class).childHandler(new Pipeline());
        Channel channel = bootstrap.bind(0).sync().channel();
        System.out.println("port " + ((InetSocketAddress) channel.localAddress()).getPort());
        channel.closeFuture().sync();
    }
}
